"""A simulated `cuda` device for PyTorch: importing it makes `x.cuda()` and `device="cuda"` work on a CPU.

The device is that of the CUDA twin. Extensions built by torch.utils.cpp_extension run there with checks; PyTorch's own
operators are the CPU ones.
"""

from __future__ import annotations

import atexit
import sys

import torch

from opbridge.base.errors import UnsupportedError
from opbridge.build.sources.store import SIMULATED
from opbridge.twins.cuda.device_for_torch import DEVICE
from opbridge.twins.cuda.torch_device import functions, native


def _register() -> None:
    if torch._C._has_cuda or torch.version.hip:
        raise UnsupportedError(
            "this PyTorch is built for GPUs, whose kernels for them would stand in the simulated cuda's way\n"
            "  use its build for the CPU: pip install torch --index-url https://download.pytorch.org/whl/cpu"
        )
    DEVICE.start(native.load(), 1)
    functions.install()
    SIMULATED["cuda"] = "cuda-twin"
    atexit.register(_tell_what_nobody_asked_for)


def _tell_what_nobody_asked_for() -> None:
    """Print errors at exit, for programs that end without using their results."""
    try:
        native.load().synchronize()
    except torch.AcceleratorError as error:
        print(error, file=sys.stderr)


_register()
