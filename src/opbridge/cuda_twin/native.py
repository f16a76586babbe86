"""The simulated device's C++, on that of the CUDA twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.frameworks.torch.simulated import SimulatedDevice
from opbridge.toolchains.cuda_twin import runtime
from opbridge.twins import cuda

DEVICE = SimulatedDevice("cuda", cuda.INCLUDE, (("OPBRIDGE_SIMULATES_CUDA", "1"),))


@cache
def load() -> ModuleType:
    return DEVICE.load(runtime)
