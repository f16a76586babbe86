"""Convert values and make tensors, for derivative formulas in MindSpore.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

Array = Any
"""A tensor or a Python number: formulas mix them."""
Axes = int | tuple[int, ...] | None
Shape = Sequence[int]


def array(x: Array) -> Array:
    """Convert a Python number to a tensor; a float becomes a float64."""
    return x if isinstance(x, Tensor) else Tensor(x, ms.float64) if isinstance(x, float) else Tensor(x)


def exact(x: Array, other: Array) -> Array:
    """Convert a float next to a double-precision array to float64: MindSpore would treat it as float32."""
    if isinstance(x, float) and isinstance(other, Tensor) and other.dtype in (ms.float64, ms.complex128):
        return Tensor(x, ms.float64)
    return x


def axes_of(x: Array, axis: Axes) -> tuple[int, ...]:
    """Return axes as a tuple of non-negative numbers; all axes for None."""
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, int):
        return (axis % x.ndim,)
    return tuple([a % x.ndim for a in axis])


def without(x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """Remove the axes of a reduction that kept them, unless `keepdims` is true."""
    if keepdims:
        return x
    return ops.reshape(x, tuple([x.shape[k] for k in range(x.ndim) if k not in axes]))


def numel(x: Array) -> Array:
    """Return the number of elements."""
    return x.size


def item(x: Array, index: Array) -> Array:
    """Return an item or a part of a tensor or list."""
    return x[index]


def zeros_like(x: Array) -> Array:
    """Return zeros with the shape and element type of `x`."""
    return ops.zeros_like(array(x))


def ones_like(x: Array) -> Array:
    """Return ones with the shape and element type of `x`."""
    return ops.ones_like(array(x))


def full_like(x: Array, value: Array) -> Array:
    """Return a tensor like `x`, filled with a value."""
    return ops.full_like(x, value)


def zeros(shape: Shape, dtype: ms.Type) -> Array:
    """Return zeros of a shape and element type."""
    return ops.zeros(shape, dtype)


def ones(shape: Shape, dtype: ms.Type) -> Array:
    """Return ones of a shape and element type."""
    return ops.ones(shape, dtype)


def astype(x: Array, dtype: ms.Type) -> Array:
    """Convert to another element type."""
    return ops.cast(array(x), dtype)


def conj(x: Array) -> Array:
    """Return the complex conjugate of each element; `x` itself if it is real."""
    return ops.conj(x) if isinstance(x, Tensor) and x.dtype in (ms.complex64, ms.complex128) else x


def real(x: Array) -> Array:
    """Return the real part of each element."""
    return ops.real(array(x))


def imag(x: Array) -> Array:
    """Return the imaginary part of each element."""
    return ops.imag(array(x))


def isnan(x: Array) -> Array:
    """Return for each element whether it is NaN."""
    return ops.isnan(array(x))


def isinf(x: Array) -> Array:
    """Return for each element whether it is infinite."""
    return ops.isinf(array(x))


def isfinite(x: Array) -> Array:
    """Return for each element whether it is finite."""
    return ops.isfinite(array(x))
