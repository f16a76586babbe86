"""Builds of a project that nobody edited: `opbridge run-build` in front of what people type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "project"


@pytest.fixture
def unedited(tmp_path: Path) -> Path:
    """The project beside this file, as it was for PyTorch alone."""
    project = Path(shutil.copytree(PROJECT, tmp_path / "project"))
    setup = project / "setup.py"
    text = setup.read_text()
    setup.write_text(text.replace("opbridge.compat.cpp_extension", "torch.utils.cpp_extension"))
    assert setup.read_text() != text
    return project


def run_build(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    words: Sequence[str | Path] = (sys.executable, "-m", "opbridge", "run-build", *command)
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True)


def is_taken_over(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether opbridge's command built it; pip -v tells what a build prints on stderr."""
    said = done.stdout + done.stderr
    return "built: " in said or "cached: " in said


def test_in_place(unedited: Path) -> None:
    done = run_build("python", "setup.py", "build_ext", "--inplace", cwd=unedited)
    assert done.returncode == 0, done.stderr
    assert is_taken_over(done)
    assert (unedited / "muladd_ext" / "_C.abi3.so").is_file()


@pytest.mark.matrix("test_in_place; test_somebody_elses_sitecustomize_runs_too has a process below the command")
def test_by_pip_in_this_environment(unedited: Path, tmp_path: Path) -> None:
    done = run_build("pip", "-v", "wheel", "--no-deps", "-w", tmp_path / "wheels", ".", cwd=unedited)
    assert done.returncode == 0, done.stderr
    assert is_taken_over(done)
    assert list((tmp_path / "wheels").glob("muladd_ext-*-abi3-*.whl"))


def test_who_tries_cuda_goes_on_without(tmp_path: Path) -> None:
    """As with a PyTorch for CPUs alone, where its own CUDAExtension raises this error."""
    code = """
from torch.utils.cpp_extension import CUDA_HOME, CUDAExtension
try:
    CUDAExtension("kernels", ["kernels.cu"])
except OSError as error:
    print(CUDA_HOME, str(error).partition(":")[0])
"""
    done = run_build("python", "-c", code, cwd=tmp_path)
    assert done.stdout == "None CUDA_HOME is None\n", done.stderr


def test_a_mistake_is_the_builds_own(unedited: Path) -> None:
    sources = unedited / "muladd_ext" / "csrc"
    (sources / "muladd.cpp").unlink()  # which includes PyTorch's headers
    (sources / "scale.cpp").write_text("int f() { return wrong; }\n")
    done = run_build("setup.py", "build_ext", cwd=unedited)
    assert done.returncode == 1
    assert "scale.cpp:1:18: error: " in done.stderr


def test_somebody_elses_sitecustomize_runs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code = (
        "import sys; print('opbridge.authoring.compat.replaced_cpp_extension' in sys.modules, 'torch' in sys.modules)"
    )
    done = run_build("python", "-c", code, cwd=tmp_path)
    by_opbridge_and_below_it = ["theirs", "theirs"]
    assert done.stdout.split() == [*by_opbridge_and_below_it, "True", "False"], done.stderr


def test_a_python_without_opbridge_builds_by_itself(tmp_path: Path) -> None:
    done = run_build(sys.executable, "-S", "-c", "print('built')", cwd=tmp_path)
    assert done.stdout == "built\n"


def test_nothing_to_run() -> None:
    done = run_build(cwd=Path.cwd())
    assert done.returncode == 2
    assert "opbridge run-build pip install ." in done.stderr
