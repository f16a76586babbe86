"""Provide PyTorch operators in PyTorch: the objects in `torch.ops`."""

from __future__ import annotations

from typing import Any

from opbridge.frameworks.aten.aten_operator import AtenOperator


def view(operator: AtenOperator) -> Any:
    """Return the operator in `torch.ops`."""
    return operator.torch
