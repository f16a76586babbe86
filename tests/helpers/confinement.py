"""Whether this machine lets opbridge confine strangers' programs; a container mostly does not."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tests.helpers.subprocesses import python

_TRY = """
import tempfile
from pathlib import Path
from opbridge.build.cache import Cache
from opbridge.analysis.judge.process.confinement import Cell, enter
from opbridge.base.errors import UnsupportedError
folder = Path(tempfile.mkdtemp())
try:
    enter(Cell(folder, Cache().root))
except UnsupportedError as error:
    print(str(error).partition("\\n")[0])
"""


@cache
def refusal() -> str:
    """Empty where it does."""
    # Who has threads, as NumPy would start them, can take no namespace of its own.
    done = python(_TRY, timeout=120, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    return done.stdout.strip() or done.stderr.strip()


def needs_confinement() -> None:
    if reason := refusal():
        pytest.skip(reason)


def run_in_a_view(folder: Path, places: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where the folder is seen by way of another one: `view`, which takes what is written there."""
    for name in ("upper", "work", "view"):
        (places / name).mkdir(mode=0o700)
    layers = f"lowerdir={folder},upperdir={places}/upper,workdir={places}/work,userxattr"
    whole = f"from pathlib import Path; view = Path({str(places / 'view')!r}); {program}"
    mounted = f"mount -t overlay overlay -o {layers} {places}/view"
    inside = f"{mounted} && {shlex.quote(sys.executable)} -c {shlex.quote(whole)}"
    return subprocess.run(["unshare", "-Urm", "sh", "-c", inside], capture_output=True, text=True)
