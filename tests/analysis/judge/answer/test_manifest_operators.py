"""Operators of a manifest, judged by what `opbridge check` finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.analysis.judge.answer.manifest_operators import judge_operators, verdict_of
from opbridge.analysis.judge.judgement import Verdict
from opbridge.base.errors import InputError
from opbridge.verify.check import Row, Status

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
    return folder / "ops.yaml"


def test_what_does_not_compile_is_broken(tmp_path: Path) -> None:
    found = judge_operators(written(tmp_path, "T(2) +/ 1"))
    assert found.verdict is Verdict.BROKEN
    assert found.reasons[0].place == "twice.cpp:6"


def test_one_reference_is_of_one_operator(tmp_path: Path) -> None:
    manifest = written(tmp_path, "T(2)")
    again = "  - func: again(Tensor x) -> Tensor\n    out: x\n    kernels: {cpu: twice.cpp}\n"
    manifest.write_text(manifest.read_text() + again)
    with pytest.raises(InputError, match=r"the reference of one operator, and .* declares 2") as refused:
        judge_operators(manifest, "aten::mul")
    assert "opbridge check --reference NAME=" in str(refused.value)


def row(check: str, status: Status, framework: str = "numpy", message: str = "") -> Row:
    return Row("judged::twice", framework, check, status, message)


def test_what_is_held_against_a_reference_is_right() -> None:
    found = verdict_of([row("values", Status.PASSED), row("strides", Status.SKIPPED)], seed=0)
    assert (found.verdict, found.shapes) == (Verdict.RIGHT, ("judged::twice on cpu",))


def test_one_row_that_fails_is_wrong() -> None:
    rows = [row("values", Status.PASSED), row("gradients", Status.FAILED, "torch", "differs at /x/twice.cpp:6, see")]
    found = verdict_of(rows, seed=3)
    (reason,) = found.reasons
    assert (found.verdict, reason.check, reason.place, reason.seed) == (Verdict.WRONG, "gradients", "twice.cpp:6", 3)


@pytest.mark.parametrize("rows", [[], [row("values", Status.SKIPPED)], [row("values", Status.PASSED, "torch")]])
def test_without_a_reference_nobody_knows(rows: list[Row]) -> None:
    found = verdict_of(rows, seed=0)
    assert found.verdict is Verdict.UNDECIDED
    assert "name a reference" in found.reasons[0].to_do
