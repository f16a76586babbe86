"""Operators of PyTorch's in PyTorch: what `torch.ops` has."""

from __future__ import annotations

from typing import Any

from opbridge.frameworks.aten.operators import AtenOperator


def view(operator: AtenOperator) -> Any:
    return operator.torch
