"""Names that are no text, locales without their letters, and files that are none: said, and never waited for."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import succeed

from opbridge.build.cache import Cache

KERNEL = """\
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + x[i]; });
}
OB_KERNEL(twice)
"""
LOCALES = {
    "C": {"LC_ALL": "C"},
    "C without Python's help": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "strict UTF-8": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8:strict"},
    "no UTF-8 for what is printed": {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii:strict"},
}


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    signal.alarm(120)
    yield
    signal.alarm(0)


def opbridge(*arguments: str | bytes | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [PYTHON, "-m", "opbridge", *arguments]
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, stdin=subprocess.DEVNULL)


def library(folder: bytes, source: str) -> None:
    os.makedirs(folder)
    Path(os.fsdecode(folder), source).write_text(KERNEL)
    manifest = f"namespace: odd\nops:\n  - {{func: twice(Tensor x) -> Tensor, out: x, kernels: {{cpu: {source}}}}}\n"
    Path(os.fsdecode(folder), "ops.yaml").write_text(manifest, encoding="utf-8")


@pytest.mark.cases(4)
@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
@pytest.mark.parametrize("name", [b"bad\xff", "prüfung 算子".encode()])
def test_a_folder_may_have_any_name(tmp_path: Path, name: bytes, locale: dict[str, str]) -> None:
    library(os.fsencode(tmp_path) + b"/" + name, "twice.cpp")
    for command in ("build", "compile", "doctor"):
        arguments = {
            "build": (name + b"/ops.yaml", "-o", name + b"/lib"),
            "compile": (name + b"/twice.cpp", name + b"/out.so"),
            "doctor": (name + b"/out.so",),
        }[command]
        done = opbridge(command, *arguments, folder=tmp_path, **locale)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        assert b"Traceback" not in done.stderr
    if locale is LOCALES["strict UTF-8"]:
        assert name + b"/out.so" in done.stdout, "the name as it is, to be copied"


def test_the_cache_may_lie_in_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    library(os.fsencode(tmp_path) + b"/project", "twice.cpp")
    place = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")
    for words in (b"built", b"cached"):
        done = opbridge("build", "project/ops.yaml", folder=tmp_path, OPBRIDGE_CACHE_DIR=place)
        assert words in done.stdout, done.stderr
        assert not done.stderr


def test_an_operator_of_a_folder_whose_name_is_no_text_is_called(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/bad\xff"
    library(folder, "twice.cpp")
    code = "import numpy, opbridge; print(opbridge.load('ops.yaml').twice(numpy.ones(2, 'f')).tolist())"
    variables = {**os.environ, "OPBRIDGE_CACHE_DIR": os.fsdecode(folder + b"/cache")}
    assert succeed(code, cwd=folder, env=variables) == "[2.0, 2.0]\n"


def test_a_kernel_whose_name_the_locale_lacks_is_named(tmp_path: Path) -> None:
    library(os.fsencode(tmp_path) + b"/project", "zwölf.cpp")
    ascii_only = LOCALES["C without Python's help"]
    done = opbridge("build", "project/ops.yaml", folder=tmp_path, **ascii_only)
    assert done.returncode == 2
    assert b"cannot name a file here: the locale's encoding, ascii, lacks a letter of it" in done.stderr
    assert b"use UTF-8: export LC_ALL=C.UTF-8" in done.stderr
    cache = {"OPBRIDGE_CACHE_DIR": str(Cache().root)}
    assert opbridge("build", "project/ops.yaml", folder=tmp_path, **LOCALES["C"], **cache).returncode == 0
    # What was read before, in another locale, is not read again.
    code = (
        "import opbridge as ob\ntry: ob.load('project/ops.yaml')\nexcept ob.OpbridgeError as error: print(ascii(error))"
    )
    variables = {**os.environ, **ascii_only, **cache}
    assert "lacks a letter of it" in succeed(code, cwd=tmp_path, env=variables)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("fifo.yaml", "expected a file, it is a FIFO"),
        ("/dev/zero", "expected a file, it is a device|is not a manifest"),
        ("loop.yaml", "Too many levels of symbolic links"),
        ("folder.yaml", "is a folder"),
    ],
)
@pytest.mark.parametrize("command", ["build", "check", "wheel", "codegen", "doctor"])
def test_what_is_no_file_is_said(tmp_path: Path, command: str, path: str, words: str) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "folder.yaml").mkdir()
    done = opbridge(command, path, *(["-o", "out"] if command in ("wheel", "codegen") else []), folder=tmp_path)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert re.search(words, done.stderr.decode())


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Its beginning is not mapped, so that reading there is an error of the device."""
    done = opbridge("doctor", "/proc/self/mem", folder=tmp_path)
    assert done.returncode == 2
    assert b"cannot read /proc/self/mem: Input/output error" in done.stderr
