"""The C++ part of the simulated device, which builds on that of the CUDA twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.twins.cuda.device_for_torch import DEVICE
from opbridge.twins.cuda.toolchain import runtime


@cache
def load() -> ModuleType:
    """Build and load the C++ module on first use."""
    return DEVICE.load(runtime)
