"""The simulated devices' C++, on those of the Ascend C twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.frameworks.torch.simulated import SimulatedDevice
from opbridge.toolchains.ascend_twin import runtime
from opbridge.twins import ascend

DEVICE = SimulatedDevice("npu", ascend.INCLUDE)


@cache
def load() -> ModuleType:
    return DEVICE.load(runtime)
