"""`opbridge twin op`: what a project has, and whether its kernels build.  Shares what tests/twins/ascend/projects
builds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from forked_python import PYTHON

PROJECT = Path(__file__).parents[1] / "twins" / "ascend" / "projects" / "scaled_sum"


def twin_op(*arguments: str) -> subprocess.CompletedProcess[str]:
    # In the user's own cache, which has the library built.
    return subprocess.run(
        [PYTHON, "-m", "opbridge", "twin", "op", *arguments], capture_output=True, text=True, timeout=300
    )


def test_it_says_what_is_in_a_project_and_builds_it() -> None:
    done = twin_op(str(PROJECT), "--operator", "ScaledSum")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.partition(": built")[0] for line in done.stdout.splitlines()]
    assert lines == [
        "ScaledSum(Tensor x, Tensor? y, float factor=1.5) -> Tensor z",
        "  kernel op_kernel/scaled_sum.cpp, tiling ScaledSumTilingData",
        "  x float, y float, z float",
        "  x half, y half, z half",
    ]


def test_an_unknown_operator_is_told_of() -> None:
    done = twin_op(str(PROJECT), "--op", "Other")
    assert done.returncode == 2
    assert "defines no operator Other; it has ScaledSum" in done.stderr


def test_a_kernel_that_does_not_build_is_told_of(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PROJECT, tmp_path / "project"))
    kernel = folder / "op_kernel" / "scaled_sum.cpp"
    kernel.write_text(kernel.read_text().replace("tiling->factor", "tiling->factr"))
    done = twin_op(str(folder))
    assert done.returncode == 3
    assert "has no member named ‘factr’" in done.stdout
    assert "1 of the kernels could not be built: ScaledSum" in done.stdout
