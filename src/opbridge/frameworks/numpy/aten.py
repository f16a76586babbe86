"""Provide PyTorch operators on NumPy arrays; PyTorch computes on the memory of the arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from opbridge.frameworks.aten.aten_operator import AtenOperator, translated
from opbridge.frameworks.torch.native import load_native


def view(operator: AtenOperator) -> Callable[..., Any]:
    """Return the operator as a function of arrays."""
    names = tuple(overload.name() for overload in operator.overloads)
    function: Callable[..., Any] = load_native().numpy_function(names, partial(translated, operator.full_name))
    return function
