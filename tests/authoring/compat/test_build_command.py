"""A setup.py that changed one import: the project beside this file, built in every way that people build it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from forked_python import PYTHON

PROJECT = Path(__file__).parent / "project"
PIP = (sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--prefix")
TINY_SETUP = """import glob
from setuptools import setup
from opbridge.compat.cpp_extension import BuildExtension, CppExtension

tiny = CppExtension("tiny", glob.glob("tiny.c*"))
setup(name="tiny", py_modules=[], ext_modules=[tiny], include_dirs="headers", cmdclass={"build_ext": BuildExtension})
"""


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
    return Path(succeed(PYTHON, "-c", code, cwd=prefix).strip())


def test_in_place(project: Path) -> None:
    succeed(PYTHON, "setup.py", "-q", "build_ext", "--inplace", cwd=project)
    assert Path(succeed(PYTHON, "use.py", cwd=project).strip()) == project / "muladd_ext" / "_C.abi3.so"


def test_installed(project: Path, tmp_path: Path) -> None:
    succeed(*PIP, tmp_path / "prefix", ".", cwd=project)
    assert used(project, tmp_path / "prefix").is_relative_to(tmp_path / "prefix")


@pytest.mark.matrix("test_installed; test_in_place builds in the project's own folder, too")
def test_editable(project: Path, tmp_path: Path) -> None:
    succeed(*PIP, tmp_path / "prefix", "-e", ".", cwd=project)
    assert used(project, tmp_path / "prefix").is_relative_to(project)


def test_copies_of_a_project_share_what_is_built(project: Path, tmp_path: Path) -> None:
    build = (PYTHON, "setup.py", "build_ext")
    succeed(*build, cwd=project)
    other = shutil.copytree(PROJECT, tmp_path / "other")
    assert "cached: " in succeed(*build, cwd=other)


def test_a_mistake_is_told_as_setuptools_tells_them(project: Path) -> None:
    sources = project / "muladd_ext" / "csrc"
    (sources / "muladd.cpp").unlink()  # which includes PyTorch's headers
    (sources / "scale.cpp").write_text("int f() { return wrong; }\n")
    done = run(PYTHON, "setup.py", "build_ext", cwd=project)
    assert done.returncode == 1
    assert "scale.cpp:1:18: error: 'wrong' was not declared" in done.stderr.replace("‘", "'").replace("’", "'")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("jobs", ["0", "many"])
def test_max_jobs_that_is_no_number(project: Path, jobs: str) -> None:
    done = run(PYTHON, "setup.py", "build_ext", cwd=project, MAX_JOBS=jobs)
    assert f"MAX_JOBS is '{jobs}'; expected how many compilers may run at a time" in done.stderr


class TestOfSetuptools:
    """What setuptools' own command passes on: of setup(), the command line, the environment and Python's own build."""

    @pytest.fixture
    def tiny(self, tmp_path: Path) -> Path:
        """A project with the test's own source, and headers that setup() names for all its extensions."""
        (tmp_path / "setup.py").write_text(TINY_SETUP)
        (tmp_path / "headers").mkdir()
        (tmp_path / "headers" / "from_setup.h").write_text("#define FROM_SETUP 1\n")
        return tmp_path

    @pytest.mark.parametrize(
        ("needs", "options", "environment"),
        [
            ("FROM_SETUP", (), {}),
            ("FROM_COMMAND", ("-DFROM_COMMAND",), {}),
            ("!defined GONE", ("-DGONE", "-UGONE"), {}),
            ("FROM_CFLAGS", (), {"CFLAGS": "-DFROM_CFLAGS=1"}),
            ("FROM_CPPFLAGS", (), {"CPPFLAGS": "-DFROM_CPPFLAGS=1"}),
            ("defined NDEBUG", (), {}),
            ("defined __OPTIMIZE__", (), {"CFLAGS": "-O0"}),
        ],
    )
    def test_arrives(self, tiny: Path, needs: str, options: tuple[str, ...], environment: dict[str, str]) -> None:
        (tiny / "tiny.cpp").write_text(f"#include <from_setup.h>\n#if !({needs})\n#error {needs}\n#endif\n")
        done = run(PYTHON, "setup.py", "build_ext", *options, cwd=tiny, **environment)
        assert done.returncode == 0, done.stderr

    def test_sums_wrap_around(self, tiny: Path) -> None:
        """As in what Python itself is compiled to; a compiler that need not care says that x + 1 > x."""
        (tiny / "tiny.cpp").write_text('extern "C" int grows(int x) { return x + 1 > x; }\n')
        succeed(PYTHON, "setup.py", "build_ext", "--inplace", cwd=tiny)
        (library,) = tiny.glob("tiny*.so")
        assert ctypes.CDLL(str(library)).grows(2**31 - 1) == ("-fwrapv" not in sysconfig.get_config_var("CFLAGS"))

    def test_c_is_compiled_as_pytorch_does_it(self, tiny: Path) -> None:
        (tiny / "tiny.c").write_text("#ifndef __cplusplus\n#error C\n#endif\n")
        succeed(PYTHON, "setup.py", "build_ext", cwd=tiny)


def test_an_extension_for_cuda_has_it_whatever_its_sources_are() -> None:
    from setuptools import Distribution

    from opbridge.compat.cpp_extension import BuildExtension, CppExtension, CUDAExtension

    command = BuildExtension(Distribution())
    command.finalize_options()
    extensions = [
        CUDAExtension("tiny", ["tiny.cpp"], dlink=True, dlink_libraries=["other"]),
        CppExtension("tiny", ["tiny.cpp"]),
    ]
    requests = [command._request(extension, "tiny.so") for extension in extensions]
    assert [(request.language, "-lother" in request.link_flags) for request in requests] == [
        ("cuda", True),
        ("c++", False),
    ]


class TestOptions:
    def test_a_library_without_pythons_suffix(self) -> None:
        from setuptools import Distribution, Extension

        from opbridge.compat.cpp_extension import BuildExtension

        command = BuildExtension.with_options(use_ninja=False, no_python_abi_suffix=True)(
            Distribution({"ext_modules": [Extension("ops", ["ops.cpp"])]})
        )
        command.finalize_options()
        assert command.get_ext_filename("ops") == "ops.so"

    def test_others_are_kept_as_pytorch_keeps_them(self) -> None:
        from opbridge.compat.cpp_extension import BuildExtension

        assert BuildExtension.with_options(debug_symbols=True).debug_symbols
