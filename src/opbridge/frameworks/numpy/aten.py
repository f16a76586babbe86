"""Operators of PyTorch's on NumPy arrays, which PyTorch computes on the arrays' own memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from opbridge.frameworks.aten.operators import AtenOperator, translated
from opbridge.frameworks.torch.native import load_native


def view(operator: AtenOperator) -> Callable[..., Any]:
    names = tuple(overload.name() for overload in operator.overloads)
    function: Callable[..., Any] = load_native().numpy_function(names, partial(translated, operator.full_name))
    return function
