"""Whether this machine lets opbridge confine strangers' programs; a container mostly does not."""

from __future__ import annotations

import os
from functools import cache

import pytest
from tests.helpers.subprocesses import python

_TRY = """
import tempfile
from pathlib import Path
from opbridge.cache import Cache
from opbridge.judging.confining import Cell, enter
from opbridge.errors import UnsupportedError
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
