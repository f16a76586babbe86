"""A project for NPUs as people have them: kernel, binding, CMakeLists and a test on torch_npu, run as it is.  20 s."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked_python import PYTHON

PROJECT = Path(__file__).parent / "project"


def twin_run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # `python3` of the scripts is the one that has PyTorch.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [PYTHON, "-m", "opbridge", "twin", "run", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PATH": path})


@pytest.mark.matrix("tests/twins/ascend/cann_folder builds a project and runs it")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="the project is built by CMake")
def test_a_project_is_built_and_passes_its_tests(tmp_path: Path) -> None:
    run = twin_run("bash", str(PROJECT / "run.sh"), str(PROJECT), folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Ran 3 tests" in run.stderr


def test_a_script_gets_its_arguments_and_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys, torch, torch_npu\nprint(sys.argv[1:], torch.ones(2).npu().device)\nsys.exit(7)\n"
    )
    run = twin_run("script.py", "--level", "3", folder=tmp_path)
    assert run.returncode == 7, run.stderr
    assert run.stdout == "['--level', '3'] npu:0\n"


def test_nothing_to_run_is_said(tmp_path: Path) -> None:
    run = twin_run(folder=tmp_path)
    assert run.returncode == 2
    assert "twin run needs what to run" in run.stderr
    run = twin_run("no-such-command", folder=tmp_path)
    assert run.returncode == 2
    assert "cannot run no-such-command: No such file or directory" in run.stderr


def test_a_real_torch_npu_is_stepped_aside_for(tmp_path: Path) -> None:
    """A package of that name whose devices are there is taken for it."""
    (tmp_path / "torch_npu.py").write_text(
        "import torch\ntorch.npu = type('npu', (), {'is_available': lambda: True})\n"
    )
    (tmp_path / "script.py").write_text("import torch_npu; print(torch_npu.__file__)\n")
    variables = {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [PYTHON, "-m", "opbridge", "twin", "run", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | variables,
    )
    assert run.returncode == 0, run.stderr
    assert "torch_npu works here and is not replaced" in run.stderr
    assert run.stdout.strip() == str(tmp_path / "torch_npu.py")
