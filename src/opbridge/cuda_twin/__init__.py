"""A `cuda` device of PyTorch where there is none: importing this makes `x.cuda()` and `device="cuda"` work on a CPU.

The device is the CUDA twin's.  Extensions that torch.utils.cpp_extension builds run there, checked; PyTorch's own
operators are those of the CPU.
"""

from __future__ import annotations

import atexit
import sys

import torch

from opbridge.cuda_twin import building, functions, native
from opbridge.errors import UnsupportedError
from opbridge.sources.store import SIMULATED


def _register() -> None:
    if torch._C._has_cuda or torch.version.hip:
        raise UnsupportedError(
            "this PyTorch is built for GPUs, whose kernels for them would stand in the simulated cuda's way\n"
            "  use its build for the CPU: pip install torch --index-url https://download.pytorch.org/whl/cpu"
        )
    native.DEVICE.start(native.load(), 1)
    functions.install()
    building.install()
    SIMULATED["cuda"] = "cuda-twin"
    atexit.register(_tell_what_nobody_asked_for)


def _tell_what_nobody_asked_for() -> None:
    """A program that ends without looking at its results is told all the same."""
    try:
        native.load().synchronize()
    except torch.AcceleratorError as error:
        print(error, file=sys.stderr)


_register()
