"""Runs something in a process of its own whose CUDA kernels count, and says what they cost."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opbridge.costs.analysing import analysed
from opbridge.costs.chips import Chip, chip_named
from opbridge.costs.counted import read
from opbridge.costs.model import Profile
from opbridge.errors import InputError, KernelError
from opbridge.op import Op
from opbridge.toolchains.cuda_twin import PROFILE

BLOCKS = "OPBRIDGE_TWIN_CHECK_BLOCKS"
_BLOCKS = "16"
"""Of each launch, in a program, which runs the others without looking."""
_WORKER = "opbridge.costs.worker"


def profile(op: Op, *args: Any, chip: str = "a100", **kwargs: Any) -> Profile:
    """What one call of an operator costs, by the CUDA kernels that it runs in the twin.

    `args` are NumPy's arrays or any framework's tensors.  The call is made in another process, where the operator is
    loaded again; it has to be one for the CUDA twin, as by `ob.load("ops.yaml", device="cuda-twin")`.
    """
    found = chip_named(chip)
    with tempfile.TemporaryDirectory(prefix="opbridge-profile-") as folder:
        job = Path(folder, "job")
        with job.open("wb") as file:
            pickle.dump([entry or os.getcwd() for entry in sys.path], file)
            pickle.dump((op, args, kwargs), file)
        return _run([sys.executable, "-m", _WORKER, str(job)], found, str(op.name), {})


def profile_command(command: Sequence[str], chip: str = "a100") -> Profile:
    """What a program by `opbridge twin nvcc --counters` costs, all of its launches together."""
    found = chip_named(chip)
    return _run([str(word) for word in command], found, str(command[0]), {BLOCKS: os.environ.get(BLOCKS, _BLOCKS)})


def _run(command: list[str], chip: Chip, name: str, variables: dict[str, str]) -> Profile:
    with tempfile.TemporaryDirectory(prefix="opbridge-profile-") as folder:
        try:
            done = subprocess.run(
                command,
                env=os.environ | variables | {PROFILE: folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise InputError(f"{name} cannot be run: {error.strerror}") from None
        runs = list(read(Path(folder)))
    if runs:
        return analysed(runs, chip)
    if done.returncode:
        raise KernelError(f"{name} ended with exit code {done.returncode} before a kernel was counted:\n{done.stdout}")
    raise InputError(
        f"{name} launched no CUDA kernel that counts",
        hint='load an operator with device="cuda-twin"; compile a program by opbridge twin nvcc --counters',
    )
