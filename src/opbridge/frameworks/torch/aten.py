"""Provide PyTorch operators in PyTorch: the objects in `torch.ops`."""

from __future__ import annotations

from torch._ops import OpOverload, OpOverloadPacket

from opbridge.frameworks.aten.aten_operator import AtenOperator


def view(operator: AtenOperator) -> OpOverload | OpOverloadPacket:
    """Return the operator in `torch.ops`."""
    return operator.torch
