"""Compare a training step of examples/transformer over several processes, with opbridge and with PyTorch operators."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from table import Row

_WORKER = Path(__file__).resolve().parent / "training_worker.py"
_PROCESSES = 4
_WAYS = {"ddp": "DDP", "fsdp": "FSDP2", "tensor": "tensor parallel"}


def step(quick: bool) -> list[Row]:
    """Use one thread per process: four processes share two cores here."""
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(_PROCESSES))
    command = [sys.executable, *launcher, str(_WORKER), str(2 if quick else 15), *_WAYS]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    times = json.loads(done.stdout.splitlines()[-1])
    return [
        Row.relative(
            f"a training step of a transformer on {_PROCESSES} processes, {name}",
            times[way]["opbridge"],
            "the same with F.rms_norm and F.silu",
            times[way]["torch"],
            "1.05",
        )
        for way, name in _WAYS.items()
    ]
