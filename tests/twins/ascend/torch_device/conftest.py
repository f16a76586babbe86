"""Tests of the simulated device run in processes of their own: a process takes one additional device, and for good."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_python import PYTHON

INSIDE = Path(__file__).parent / "inside"
# Written for torch_npu, and run where something stands in for it.
collect_ignore = ["project"]


@pytest.fixture
def inside() -> Callable[..., None]:
    """Runs the tests of files in the folder `inside`, in one process."""

    def run(*names: str, **variables: str) -> None:
        files = (str(INSIDE / name) for name in names)
        command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *files]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables)
        assert done.returncode == 0, done.stdout + done.stderr

    return run
