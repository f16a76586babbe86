"""A program of the tests that starts as a fork ends as one that starts by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from forked_python import PYTHON

ENDS = """
import atexit, ctypes, tempfile, threading, time
import numpy

class Kept:
    def __del__(self):
        print("a variable")

atexit.register(print, "what is registered")
folder = tempfile.TemporaryDirectory(prefix="ends-", dir=".")
kept = Kept()
threading.Thread(target=lambda: (time.sleep(0.1), print("a thread"))).start()
ctypes.CDLL(None).puts(b"C's buffer")
raise SystemExit(7)
"""


@pytest.mark.parametrize("python", [PYTHON, sys.executable], ids=["fork", "real"])
def test_a_program_ends_what_it_has_made(python: str, tmp_path: Path) -> None:
    done = subprocess.run([python, "-c", ENDS], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "")
    assert sorted(done.stdout.splitlines()) == ["C's buffer", "a thread", "a variable", "what is registered"]
    assert list(tmp_path.iterdir()) == []
