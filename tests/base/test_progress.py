"""What is reported of a step that takes long: on a terminal, elsewhere, and to nobody."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from opbridge.base import progress
from opbridge.base.durations import keep, kept
from opbridge.base.progress import carried, detail, step

TIME = r"(\d+ min )?\d+ s"
LONG = 0.3
"""Seconds of a step that is reported here, whose patience is none."""


@pytest.fixture(autouse=True)
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPBRIDGE_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_TICK", 0.02)


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The text of a terminal, up to the end of its line."""
    leader, follower = pty.openpty()
    said: list[str] = []
    with os.fdopen(leader, "rb", buffering=0) as reading, os.fdopen(follower, "w", buffering=1) as writing:
        monkeypatch.setattr(sys, "stderr", writing)
        yield said
        text = b""
        while not text.endswith(b"\n"):  # what a terminal has comes in parts
            text += reading.read(1 << 16)
        said.append(text.decode())


def test_elsewhere_a_long_step_has_a_line_at_its_start_and_one_at_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    keep(tmp_path, "building a library", 34.4)
    with step("building a library", tmp_path, patience=0):
        time.sleep(LONG)
    first = re.escape("opbridge: building a library (34 s last time) ...\n")
    assert re.fullmatch(rf"{first}opbridge: building a library: done in \d+ s\n", said.getvalue())
    assert kept(tmp_path, "building a library") != 34.4, "the last time is this one now"


def test_on_a_terminal_it_has_one_line_that_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as said, step("building", patience=0):
        for part in ("a.cpp", "b.cpp"):
            detail(f"compiling {part}")
            time.sleep(LONG)
    lines = said[0].split("\033[K")
    assert re.match(r"opbridge: building: done in \d+ s", lines[-1])
    assert len(lines) > 2
    assert {line.partition("s: ")[2].strip() for line in lines[1:-1]} >= {"compiling a.cpp", "compiling b.cpp"}
    assert "\n" not in "".join(lines[:-1])


def test_a_terminal_shows_sooner_what_others_hear_of_late(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.1)
    with step("importing", patience=60):
        time.sleep(LONG)
    assert capsys.readouterr().err == ""
    with terminal(monkeypatch) as said, step("importing", patience=60):
        time.sleep(LONG)
    assert "opbridge: importing, " in said[0]


def test_a_short_step_and_one_of_who_wants_quiet_print_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with step("short"):
        time.sleep(LONG)
    monkeypatch.setenv(*next(iter(progress.QUIET.items())))
    with step("quiet", patience=0):
        time.sleep(LONG)
    assert capsys.readouterr() == ("", "")


def test_steps_inside_a_step_have_no_lines_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def inner(number: int) -> None:
        with step(f"library {number}", patience=0):
            time.sleep(LONG)

    with step("two libraries", patience=0), ThreadPoolExecutor(2) as threads:
        list(threads.map(carried(inner), range(2)))
    said = capsys.readouterr().err
    assert re.fullmatch(r"opbridge: two libraries \.\.\.\nopbridge: two libraries: done in \d+ s\n", said)


@pytest.mark.parametrize(("error", "words"), [(ValueError, "failed after"), (KeyboardInterrupt, "stopped after")])
def test_how_it_ended_is_said_and_no_thread_stays(
    error: type[BaseException], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @step("building", patience=0)
    def work() -> None:
        time.sleep(LONG)
        raise error

    before = threading.active_count()
    with pytest.raises(error):
        work()
    assert threading.active_count() == before
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"opbridge: building: {words} ")


def test_who_has_no_stderr_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        with step("building", patience=0):
            time.sleep(LONG)


def test_a_folder_that_takes_no_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "durations.json").mkdir()
    keep(tmp_path, "building", 3)
    assert kept(tmp_path, "building") is None
    assert [file.name for file in tmp_path.iterdir()] == ["durations.json"]


def test_a_build_of_some_seconds_is_reported_on_stderr_alone(tmp_path: Path) -> None:
    """By a compiler that is slow."""
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\ncase "$*" in *" -c "*) sleep 3.5;; esac\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    (tmp_path / "k.cpp").write_text('extern "C" int k() { return 0; }')
    variables = {**os.environ, "CXX": str(compiler), "OPBRIDGE_CACHE_DIR": str(tmp_path / "cache")}
    for known in ("", rf" \({TIME} last time\)"):
        command = [sys.executable, "-m", "opbridge", "compile", "k.cpp", "k.so"]
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
        # On a busy machine more than this build may take long.
        first, last = (line for line in done.stderr.splitlines() if line.startswith("opbridge: building k.so"))
        assert re.fullmatch(rf"opbridge: building k\.so{known} \.\.\.", first)
        assert re.fullmatch(rf"opbridge: building k\.so: done in {TIME}", last)
        assert "opbridge: building" not in done.stdout
        (tmp_path / "k.cpp").write_text('extern "C" int k() { return 1; }')
