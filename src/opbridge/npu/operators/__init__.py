"""Operators that torch_npu adds and programs use most, made of PyTorch's: `torch_npu.npu_rms_norm` and others."""

from __future__ import annotations

import opbridge.npu  # noqa: F401 - the devices that formats are asked of
from opbridge.npu.operators import (  # noqa: F401 - each registers its own
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
from opbridge.npu.operators.registering import EXPOSED

__all__ = ["EXPOSED"]
