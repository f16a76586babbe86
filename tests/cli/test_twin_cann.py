"""`opbridge twin cann`: where the folder is, for a script and for a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from forked_python import PYTHON

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


def test_its_last_line_is_the_folder(tmp_path: Path) -> None:
    # In the user's own cache, which has the library built.
    command = [PYTHON, "-m", "opbridge", "twin", "cann", "here"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"for a shell: source {tmp_path}/here/set_env.sh", f"{tmp_path}/here"]
    assert (tmp_path / "here" / "compiler" / "tikcpp" / "ascendc_kernel_cmake" / "ascendc.cmake").is_file()


def test_what_is_in_the_way_stays(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    result = opbridge("twin", "cann", "mine")
    assert result.returncode == 2
    assert "exists and was not made by this command\n  name a new folder" in result.stderr
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_group_lists_its_commands(opbridge: Opbridge) -> None:
    assert "a folder that CMake projects of Ascend C accept as an installed CANN" in " ".join(
        opbridge("twin", "--help").stdout.split()
    )
