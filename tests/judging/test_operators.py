"""Operators of a manifest, judged by what `opbridge check` finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.cli import main
from opbridge.judging.model import Judgement, Verdict
from opbridge.judging.operators import judge_operators

MANIFEST = """
namespace: judged
ops:
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {cpu: twice.cpp}
"""
KERNEL = """
#include <opbridge/kernel.h>

template <class T>
void twice(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = FACTOR * x[i];
}
OB_KERNEL(twice, float, double)
"""


def written(folder: Path, factor: str) -> Path:
    (folder / "twice.cpp").write_text(KERNEL.replace("FACTOR", factor))
    (folder / "ops.yaml").write_text(MANIFEST)
    (folder / "expected.py").write_text("def twice(x):\n    return 2 * x\n")
    return folder / "ops.yaml"


def test_what_does_not_compile_is_broken(tmp_path: Path) -> None:
    found = judge_operators(written(tmp_path, "T(2) +/ 1"))
    assert found.verdict is Verdict.BROKEN
    assert found.reasons[0].place == "twice.cpp:6"


@pytest.mark.parametrize(("factor", "verdict", "code"), [("T(2)", "right", 0), ("T(3)", "wrong", 1)])
def test_values_are_held_against_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], factor: str, verdict: str, code: int
) -> None:
    manifest = written(tmp_path, factor)
    assert main(["judge", str(manifest), f"{tmp_path / 'expected.py'}:twice", "--json"]) == code
    found = Judgement.parse(capsys.readouterr().out)
    assert found.verdict.value == verdict
    assert ("values" in [reason.check for reason in found.reasons]) == (verdict == "wrong")


def test_without_one_nobody_knows(tmp_path: Path) -> None:
    found = judge_operators(written(tmp_path, "T(2)"))
    assert found.verdict is Verdict.UNDECIDED
    assert "name a reference" in found.reasons[0].to_do
