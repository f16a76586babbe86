"""The simulated devices' C++, on those of the Ascend C twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.frameworks.torch.simulated import SimulatedDevice
from opbridge.toolchains.ascend_twin import runtime
from opbridge.twins import ascend

# The lists of autocast take as long as all the rest, at the same time.
DEVICE = SimulatedDevice("npu", ascend.INCLUDE, besides=("npu/autocast.cpp",))


@cache
def load() -> ModuleType:
    return DEVICE.load(runtime())
