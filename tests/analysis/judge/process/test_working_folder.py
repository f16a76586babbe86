"""Folders of judgements, and what is left of those that were killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

from opbridge.analysis.judge.process.working_folder import working_folder

KILLED = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from opbridge.analysis.judge.process.working_folder import working_folder
with working_folder() as folder:
    (folder / "answer").mkdir()
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_run_removes_what_a_killed_one_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.run([PYTHON, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    left = Path(ended.stdout.strip())
    assert (left / "answer").is_dir()
    with working_folder() as first:
        assert not left.exists()
        with working_folder() as second:
            # Who lives keeps what it has.
            assert first.is_dir()
            assert first != second
    assert not list(first.parent.iterdir())
