"""The C++ part of the simulated devices, which builds on the memory of the Ascend C twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.twins.ascend.device_for_torch import DEVICE
from opbridge.twins.ascend.toolchain import runtime


@cache
def load() -> ModuleType:
    """Build and load the C++ module on first use."""
    return DEVICE.load(runtime)
