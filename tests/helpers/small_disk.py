"""A disk that is soon full, for one program alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def on_a_small_disk(program: str, disk: Path, temporary: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a Python program, whose argument is a disk of 256 KB and which has this folder for temporary files."""
    mount = f"mount -t tmpfs -o size=256k none {disk}"
    own_mounts = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    try:
        subprocess.run([*own_mounts, mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody mount a small disk")
    script = f'{mount}; exec "$0" -c "$1" {disk}'
    command = [*own_mounts, script, sys.executable, program]
    variables = {**os.environ, **environment, "TMPDIR": str(temporary)}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
