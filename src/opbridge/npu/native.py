"""The simulated devices' C++, on those of the Ascend C twin."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from opbridge.frameworks.torch import simulated
from opbridge.toolchains.ascend_twin import runtime

DEVICE = simulated.NPU


@cache
def load() -> ModuleType:
    return DEVICE.load(runtime)
