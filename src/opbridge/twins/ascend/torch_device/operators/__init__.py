"""The most used operators that torch_npu adds, built from PyTorch operators: `torch_npu.npu_rms_norm` and others."""

from __future__ import annotations

import opbridge.twins.ascend.torch_device  # noqa: F401 - registers the devices, which formats need
from opbridge.twins.ascend.torch_device.operators import (  # noqa: F401 - each registers its own
    activations,
    attention,
    formats,
    grouped,
    inference,
    latent,
    moe,
    normalization,
    quantization,
)
from opbridge.twins.ascend.torch_device.operators.registration import EXPOSED

__all__ = ["EXPOSED"]
