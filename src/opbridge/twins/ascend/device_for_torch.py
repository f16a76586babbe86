"""The row of the simulated NPU in the table of PyTorch's simulated devices."""

from __future__ import annotations

from opbridge.twins import ascend
from opbridge.twins.common.torch_device.simulated import SimulatedDevice

DEVICE = SimulatedDevice("npu", ascend.INCLUDE)
