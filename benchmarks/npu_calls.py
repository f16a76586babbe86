"""Measure a call on the simulated npu next to the same call on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from table import Row

_WORKER = Path(__file__).resolve().parent / "npu_worker.py"


def small_calls(quick: bool) -> list[Row]:
    """Run in a separate process, because the device stays registered."""
    command = [sys.executable, str(_WORKER), str(15 if quick else 101)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [
        Row.relative(f"simulated npu, 16 floats, {name}", times["npu"], "the same on the CPU", times["cpu"], "2")
        for name, times in json.loads(done.stdout.splitlines()[-1]).items()
    ]
