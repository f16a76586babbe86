"""The row of the simulated CUDA device in the table of PyTorch's simulated devices."""

from __future__ import annotations

from opbridge.twins import cuda
from opbridge.twins.common.torch_device.simulated import SimulatedDevice

DEVICE = SimulatedDevice("cuda", cuda.INCLUDE, (("OPBRIDGE_SIMULATES_CUDA", "1"),))
