"""Whose headers are rewritten as the sources are."""

from __future__ import annotations

from pathlib import Path

from opbridge.twins import cuda
from opbridge.twins.cuda.nvcc.header_folders import rewritten_folders


def test_those_of_libraries_that_a_project_names(tmp_path: Path) -> None:
    library, pytorch = tmp_path / "cutlass", tmp_path / "torch"
    (library / "cute").mkdir(parents=True)
    (pytorch / "ATen").mkdir(parents=True)
    words = ["-O2", "-isystem", str(library), "-Ionce", "-isystem", str(pytorch), "-isystem", "/usr/include"]
    words += ["-isystem", str(cuda.INCLUDE)]
    assert rewritten_folders(words) == [Path("once"), library]
