"""A process that dies in an operator says in which, and where; everything else about its end is as it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from subprocesses import python

SOURCE = Path(__file__).with_name("crashing.cpp")
PREPARED = """
import sys
import numpy as np
import opbridge as ob
def load(name):
    return ob.load({source!r} + ":" + name, schema="crashing::" + name + "(Tensor x) -> Tensor", out="x")
def opened(name):
    load("is_well")(x)  # with the first kernel that is opened a process is watched
    return load(name)
x = np.full({size}, 2, np.float32)
"""


def run(program: str, size: int = 3, **variables: str) -> subprocess.CompletedProcess[str]:
    text = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    text += PREPARED.format(source=str(SOURCE), size=size) + program
    environment = {**os.environ, **variables}
    return python(text, env=environment, timeout=100)


@pytest.mark.parametrize(
    ("name", "size", "death", "line"),
    [
        ("reads_nowhere", 3, signal.SIGSEGV, "11"),
        ("reads_far_away", 300_000, signal.SIGSEGV, "17"),
        ("aborts", 3, signal.SIGABRT, "22"),
        ("calls_nothing", 3, signal.SIGSEGV, "29"),
        ("recurses", 3, signal.SIGSEGV, r"3[3-6]"),
        ("copies_too_much", 3, signal.SIGSEGV, "42"),
        ("is_sent_a_signal", 3, signal.SIGBUS, "47"),
    ],
)
def test_the_operator_and_its_line_are_named(name: str, size: int, death: signal.Signals, line: str) -> None:
    done = run(f"load({name!r})(x)", size)
    assert done.returncode == -death
    said = rf"^crashing::{name} crashed \({death.name} at crashing\.cpp:{line}\); to find the cause: "
    assert re.search(said, done.stderr, re.MULTILINE)
    assert done.stderr.count("crashed") == 1


def test_a_manifest_is_named_for_the_command_that_finds_the_line(tmp_path: Path) -> None:
    manifest = tmp_path / "ops.yaml"
    os.symlink(SOURCE, tmp_path / "crashing.cpp")
    manifest.write_text(
        "namespace: crashing\nops:\n  - {func: aborts(Tensor x) -> Tensor, out: x, kernels: {cpu: crashing.cpp}}\n"
    )
    done = run(f"ob.load({str(manifest)!r}, allow_outside=True).aborts(x)")
    assert f": opbridge check {manifest} --op aborts --sanitize address\n" in done.stderr


def test_in_pytorch_too() -> None:
    done = run("import torch; load('reads_nowhere')(torch.from_numpy(x))")
    assert done.returncode == -signal.SIGSEGV
    assert "crashing::reads_nowhere crashed (SIGSEGV at crashing.cpp:11)" in done.stderr


def test_without_a_debugger_the_line_is_left_out() -> None:
    done = run(
        "import os; os.environ['PATH'] = '/nowhere'; op(x)".replace("import os", "op = load('aborts'); import os")
    )
    assert "crashing::aborts crashed (SIGABRT); to find the line: " in done.stderr


def test_the_setting_turns_it_off() -> None:
    done = run("load('aborts')(x)", OPBRIDGE_CRASH_HANDLER="0")
    assert done.returncode == -signal.SIGABRT
    assert "crashed" not in done.stderr


@pytest.mark.parametrize(
    "order", ["faulthandler.enable(); op = load(name)", "op = opened(name); faulthandler.enable()"]
)
@pytest.mark.parametrize(("name", "death"), [("reads_nowhere", signal.SIGSEGV), ("aborts", signal.SIGABRT)])
def test_faulthandler_says_what_it_does_without_us(order: str, name: str, death: signal.Signals) -> None:
    done = run(f"import faulthandler; name = {name!r}; {order}; op(x)")
    assert done.returncode == -death
    assert f"crashing::{name} crashed ({death.name} at crashing.cpp:" in done.stderr
    assert "Fatal Python error: " in done.stderr
    assert 'File "<string>", line' in done.stderr


@pytest.mark.parametrize(
    "order", ["signal.signal(number, own); op = load('is_well')", "op = opened('is_well'); signal.signal(number, own)"]
)
def test_a_handler_of_pythons_gets_its_signals(order: str) -> None:
    program = f"""
import os, signal
seen = []
own = lambda number, frame: seen.append(number)
for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT):
    op = None
    {order}
    for _ in range(2):
        op(x)
        os.kill(os.getpid(), number)
assert seen == [number for number in (11, 7, 8, 4, 6) for _ in range(2)], seen
"""
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_crash_that_is_no_operators_is_not_told() -> None:
    done = run("load('is_well')(x); import ctypes; ctypes.string_at(0)")
    assert done.returncode == -signal.SIGSEGV
    assert "crashed" not in done.stderr


def test_whoever_wants_the_default_has_it() -> None:
    done = run("import signal; op = opened('aborts'); signal.signal(signal.SIGABRT, signal.SIG_DFL); op(x)")
    assert done.returncode == -signal.SIGABRT
    assert "crashed" not in done.stderr
