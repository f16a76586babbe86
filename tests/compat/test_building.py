"""A setup.py that changed one import: the project beside this file, built in every way that people build it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "project"
PIP = (sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--prefix")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)


def succeed(*command: str | Path, cwd: Path) -> str:
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def used(project: Path, prefix: Path) -> Path:
    """The module that the users' program finds once the package is installed below `prefix`."""
    (folder,) = prefix.glob("lib/python*/site-packages")
    code = f"import site; site.addsitedir({str(folder)!r}); exec(open({str(project / 'use.py')!r}).read())"
    return Path(succeed(sys.executable, "-c", code, cwd=prefix).strip())


def test_in_place(project: Path) -> None:
    succeed(sys.executable, "setup.py", "-q", "build_ext", "--inplace", cwd=project)
    assert Path(succeed(sys.executable, "use.py", cwd=project).strip()) == project / "muladd_ext" / "_C.abi3.so"


def test_installed(project: Path, tmp_path: Path) -> None:
    succeed(*PIP, tmp_path / "prefix", ".", cwd=project)
    assert used(project, tmp_path / "prefix").is_relative_to(tmp_path / "prefix")


def test_editable(project: Path, tmp_path: Path) -> None:
    succeed(*PIP, tmp_path / "prefix", "-e", ".", cwd=project)
    assert used(project, tmp_path / "prefix").is_relative_to(project)


def test_copies_of_a_project_share_what_is_built(project: Path, tmp_path: Path) -> None:
    build = (sys.executable, "setup.py", "build_ext")
    succeed(*build, cwd=project)
    other = shutil.copytree(PROJECT, tmp_path / "other")
    assert "cached: " in succeed(*build, cwd=other)


def test_a_mistake_is_told_as_setuptools_tells_them(project: Path) -> None:
    (project / "muladd_ext" / "csrc" / "scale.cpp").write_text("int f() { return wrong; }\n")
    done = run(sys.executable, "setup.py", "build_ext", cwd=project)
    assert done.returncode == 1
    assert "scale.cpp:1:18: error: 'wrong' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("jobs", ["0", "many"])
def test_max_jobs_that_is_no_number(project: Path, jobs: str) -> None:
    done = run(sys.executable, "setup.py", "build_ext", cwd=project, MAX_JOBS=jobs)
    assert f"MAX_JOBS is '{jobs}'; expected how many compilers may run at a time" in done.stderr


class TestOptions:
    def test_a_library_without_pythons_suffix(self) -> None:
        from setuptools import Distribution, Extension

        from opbridge.compat.cpp_extension import BuildExtension

        command = BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True)(
            Distribution({"ext_modules": [Extension("ops", ["ops.cpp"])]})
        )
        command.finalize_options()
        assert command.get_ext_filename("ops") == "ops.so"

    def test_an_unknown_one(self) -> None:
        from opbridge.compat.cpp_extension import BuildExtension
        from opbridge.errors import ToolchainError

        with pytest.raises(ToolchainError, match="BuildExtension has no option ninja: it has device"):
            BuildExtension.with_options(ninja=True)
