"""`opbridge doctor`, alone and with a library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Opbridge = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def broken_numpy(tmp_path: Path) -> str:
    """A folder for PYTHONPATH with a NumPy that cannot be imported."""
    (tmp_path / "shadow" / "numpy").mkdir(parents=True)
    (tmp_path / "shadow" / "numpy" / "__init__.py").write_text('raise ImportError("libgone.so is not here")\n')
    return str(tmp_path / "shadow")


def test_it_finds_what_is_here(opbridge: Opbridge) -> None:
    result = opbridge("doctor", "--json", OPBRIDGE_NUM_THREADS="3")
    assert result.returncode == 0, result.stderr
    found = {finding["what"]: finding["found"] for finding in json.loads(result.stdout)}
    for what in ("opbridge", "Python", "system", "processor", "C++ compiler", "native core", "cache"):
        assert found[what]
    assert "mode 700" in found["cache"]
    assert "imported in" in found["numpy"]
    assert re.fullmatch(r"2\S+, new std::string, CUDA None, 0 GPUs, \d+ threads, imported in \S+ s", found["torch"])
    assert found["OPBRIDGE_NUM_THREADS"] == "3"


def test_what_is_wrong_comes_first_with_its_cure(opbridge: Opbridge, broken_numpy: str) -> None:
    result = opbridge("doctor", CXX="no-such-compiler", PYTHONPATH=broken_numpy)
    assert result.returncode == 3
    lines = result.stdout.splitlines()
    assert lines[0] == "missing  C++ compiler"
    assert "unset CXX" in result.stdout
    text = result.stdout
    assert (
        "import numpy fails: ImportError: libgone.so is not here\n         pip install numpy --force-reinstall" in text
    )
    assert text.index("missing  numpy") < text.index("ok       opbridge: ")
    assert lines[-1].startswith("not ready: C++ compiler: CXX names the compiler 'no-such-compiler'")
    assert result.stderr.startswith("error: missing or broken here: C++ compiler, ")
    assert "numpy" in result.stderr


def test_a_cache_that_cannot_be_used(opbridge: Opbridge, tmp_path: Path) -> None:
    unsafe = tmp_path / "open"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    result = opbridge("doctor", OPBRIDGE_CACHE_DIR=str(unsafe))
    assert result.returncode == 3
    assert f"chmod 700 {unsafe}" in result.stdout


def test_a_library_that_can_be_used(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text("int f(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "f.c", "-o", "f.so"], cwd=tmp_path, check=True)
    result = opbridge("doctor", "f.so")
    assert (result.returncode, result.stderr) == (0, "")
    assert "f.so: shared library for " in result.stdout
    assert "offers   C function f: for those with the plain aot call" in result.stdout
    assert '         ob.aot("f.so:f", ' in result.stdout


def test_a_library_that_cannot(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "f.so").write_text("version https://git-lfs.github.com/spec/v1\n")
    result = opbridge("doctor", "f.so")
    assert result.returncode == 1
    assert (
        "wrong    it is a pointer of Git LFS, not the file itself, not a shared library\n         → git lfs pull"
        in result.stdout
    )
    problems = json.loads(opbridge("doctor", "f.so", "--json").stdout)["problems"]
    assert [problem["cure"] for problem in problems] == ["git lfs pull"]


def test_no_such_file(opbridge: Opbridge) -> None:
    result = opbridge("doctor", "none.so")
    assert (result.returncode, result.stdout) == (2, "")
    assert "none.so does not exist" in result.stderr


def test_a_library_without_functions(opbridge: Opbridge, tmp_path: Path) -> None:
    assert shutil.which("gcc")
    (tmp_path / "f.c").write_text("int data = 1;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "f.c", "-o", "f.so"], cwd=tmp_path, check=True)
    assert "it offers no function" in opbridge("doctor", "f.so").stdout
