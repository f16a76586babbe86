"""The row of the simulated CUDA device in the table of PyTorch's simulated devices."""

from __future__ import annotations

from opbridge.twins import cuda
from opbridge.twins.common.torch_device.simulated import SimulatedDevice

DEVICE = SimulatedDevice(
    "cuda",
    cuda.INCLUDE,
    defines=(("OPBRIDGE_SIMULATES_CUDA", "1"),),
    extension_builds="opbridge.authoring.compat.replaced_cpp_extension:take_over_for_the_twin",
)
