"""Which loops are vector code: forty kernels as people write them, for AVX2 and AVX-512, and what an author is told."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest

from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.vector_report import loops
from opbridge.cli import main

pytestmark = pytest.mark.optimized

KERNELS = Path(__file__).parent / "loops.cpp"
WIDEST = pytest.param("x86-64-v4", marks=pytest.mark.matrix("the same loops for x86-64-v3"))
TARGETS = ("x86-64-v3", WIDEST) if os.uname().machine == "x86_64" else ("native",)


KERNEL = re.compile(r"^(?:EACH\([^\n]*|(?:template|void)\b.*?^OB_KERNEL\([^\n]*)$", re.MULTILINE | re.DOTALL)


def one_of(step: int) -> str:
    """Return the source with one of so many kernels; each line keeps its number."""
    places = itertools.count()
    return KERNEL.sub(
        lambda kernel: kernel[0] if next(places) % step == 1 % step else "\n" * kernel[0].count("\n"),
        KERNELS.read_text(),
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("step", [4, 1], ids=["every fourth", "all"])
def test_loops_as_people_write_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, step: int) -> None:
    monkeypatch.setenv("OPBRIDGE_MARCH", target)
    source = tmp_path / "loops.cpp"
    source.write_text(one_of(step))
    found = loops(BuildRequest((source,), "loops.so"))
    expected = {
        number: comment[1]
        for number, line in enumerate(source.read_text().splitlines(), 1)
        if (comment := re.search(r"// scalar: (.*)", line))
    }
    assert expected
    assert {loop.line: loop.reason[: len(expected.get(loop.line, ""))] for loop in found if loop.reason} == expected
    assert len([loop for loop in found if not loop.reason]) >= 40 // step
    if target != "native":
        # Those that are loops of one's own, and not ob::map's.
        told = {loop.kernel for loop in found if not loop.reason and "ob::map" in loop.advice}
        halves = {"short_leaky_relu<ob::half>", "scale_halves<ob::half>"}
        assert told == {kernel for kernel in halves if f"OB_KERNEL({kernel.partition('<')[0]}," in source.read_text()}
        assert told


def test_the_author_is_told_of_each_loop_why_and_what_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ops.yaml").write_text(
        "namespace: told\nops:\n  - func: my_gamma(Tensor x) -> Tensor\n    out: x\n    kernels: {cpu: gamma.cpp}\n"
    )
    (tmp_path / "gamma.cpp").write_text(
        "#include <opbridge/kernel.h>\n#include <cmath>\n"
        "void my_gamma(ob::In<float> x, ob::Out<float> out) {\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];\n"
        "  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] += std::lgamma(x[i]); });\n"
        "}\nOB_KERNEL(my_gamma)\n"
    )
    assert main(["build", "-v", str(tmp_path / "ops.yaml")]) == 0
    said = capsys.readouterr().out
    assert "  gamma.cpp:4: my_gamma: vector code\n" in said
    assert "  gamma.cpp:5: my_gamma: scalar: it calls lgammaf, once for each element\n" in said
    assert "    the functions of opbridge/math.h have no call" in said
    assert not list(tmp_path.glob("*.gz")), "the record is no file of the project's"


def test_it_is_read_from_gcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "clang++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(ToolchainError, match=r"read from g\+\+'s records"):
        loops(BuildRequest((KERNELS,), "loops.so"))
