"""Provide the functions of derivative formulas in MindSpore; Graph mode compiles these functions too.

Parameters are those of the array API, all passed by position. A Python number may take the place of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops import functional

from opbridge.frameworks.mindspore import (
    formula_binary,
    formula_reductions,
    formula_shapes,
    formula_unary,
    formula_values,
)
from opbridge.frameworks.mindspore.formula_reductions import sum_to
from opbridge.frameworks.mindspore.formula_values import Array
from opbridge.waist.rules import ARRAY_FUNCTIONS


def as_gradient(gradient: Array, x: Array) -> Array:
    """Return a formula value as the gradient of `x`, in its shape and element type; zeros for None."""
    if not isinstance(gradient, Tensor):
        return ops.zeros_like(x)
    if functional.isconstant(gradient.shape) and functional.isconstant(x.shape) and gradient.shape != x.shape:
        gradient = sum_to(gradient, x.shape)
    return gradient if gradient.dtype == x.dtype else ops.cast(gradient, x.dtype)


def unknown_gradient(x: Array) -> Array:
    """Return NaN as a gradient, or zeros for integers: MindSpore requires a gradient for every input, needed or not.

    NaN makes every use of a gradient that no formula gives visible.
    """
    return ops.full_like(x, float("nan")) if x.dtype in FLOATS else ops.zeros_like(x)


FLOATS = (ms.float16, ms.bfloat16, ms.float32, ms.float64, ms.complex64, ms.complex128)

_RENAMED: Mapping[str, str] = {
    "abs": "absolute",
    "round": "rounded",
    "pow": "power",
    "sum": "summed",
    "max": "largest",
    "min": "smallest",
    "all": "every",
    "any": "some",
}
"""Functions whose array API name is a Python built-in."""

_DEFINED: Mapping[str, Callable[..., Array]] = {
    name: function
    for module in (formula_binary, formula_reductions, formula_shapes, formula_unary, formula_values)
    for name, function in vars(module).items()
    if callable(function)
}

FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {name: _DEFINED[_RENAMED.get(name, name)] for name in ARRAY_FUNCTIONS}
)
