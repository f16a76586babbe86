"""`shard` in JAX: on eight devices, with either of XLA's partitioners."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

PROGRAMS = Path(__file__).parents[1] / "sharded" / "on_eight_devices.py"


@pytest.mark.cases(1)
@pytest.mark.parametrize("shardy", ["0", "1"], ids=["GSPMD", "Shardy"])
def test_on_eight_devices(shardy: str) -> None:
    flags = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "JAX_USE_SHARDY_PARTITIONER": shardy,
    }
    command = [PYTHON, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(PROGRAMS)]
    run = subprocess.run(command, env=os.environ | flags, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
