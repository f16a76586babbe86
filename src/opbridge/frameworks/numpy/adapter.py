"""Provide operators on NumPy arrays: the native core calls the kernel itself, so nothing is registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from opbridge._core import NumpyOp
from opbridge.waist.rules import ARRAY_FUNCTIONS

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library

Array = Any
"""An array or a Python number: formulas mix both, and NumPy accepts both."""
Axes = int | tuple[int, ...] | None


def define(library: Library) -> None:
    """Do nothing: NumPy keeps no table of operators."""


def view(library: Library, index: int) -> NumpyOp:
    """Return the operator as a function of arrays; its kernel is built at the first call."""
    return NumpyOp(library.catalog.plan, index, partial(library.kernel, index, "cpu"))


def call(library: Library, index: int) -> Callable[..., Any]:
    """Return the view, which runs calls too."""
    function: Callable[..., Any] = library.view(index, "numpy")
    return function


def _erf(x: Array) -> Array:
    return np.asarray(_exact_erf(x), dtype=np.result_type(x, np.float16))


_exact_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    # Use tanh, which does not overflow at either end.
    return (np.tanh(x / 2) + 1) / 2


def _sum_to(x: Array, shape: Sequence[int]) -> Array:
    """Sum to a shape, which reverses a broadcast."""
    added = np.ndim(x) - len(shape)
    stretched = (added + i for i, size in enumerate(shape) if size == 1 and np.shape(x)[added + i] != 1)
    return np.sum(x, axis=(*range(added), *stretched), keepdims=True).reshape(shape)


def _variance(function: Callable[..., Array], x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    return function(x, axis=axis, ddof=correction, keepdims=keepdims)


def _reduction(function: Callable[..., Array], x: Array, axis: Axes, keepdims: bool) -> Array:
    return function(x, axis=axis, keepdims=keepdims)


_RENAMED: Mapping[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "astype": lambda x, dtype: np.asarray(x).astype(dtype),
    "concat": lambda arrays, axis: np.concatenate(arrays, axis),
    "cumulative_sum": np.cumsum,
    "erf": _erf,
    "matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
    "permute_dims": np.transpose,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "stack": lambda arrays, axis: np.stack(arrays, axis),
    "sum_to": _sum_to,
    "std": partial(_variance, np.std),
    "var": partial(_variance, np.var),
    **{
        name: partial(_reduction, getattr(np, name))
        for name in ("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin")
    },
}
"""Functions that NumPy names differently or lacks; parameters in the order of the array API."""


FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        name: declared.with_parameters(_RENAMED.get(name) or getattr(np, name))
        for name, declared in ARRAY_FUNCTIONS.items()
    }
)
"""The functions that a formula may call, in NumPy."""

DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        name: np.dtype(name)
        for name in (
            *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
            *("float16", "float32", "float64", "complex64", "complex128"),
        )
    }
)
"""The element types that a formula may name, in NumPy, which has no bfloat16 itself."""
