"""Provide the functions of derivative formulas in MindSpore; Graph mode compiles these functions too.

Parameters are those of the array API, all passed by position. A Python number may take the place of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops import functional

from opbridge.waist.rules import ARRAY_FUNCTIONS

Array = Any


def array(x: Array) -> Array:
    """Convert a Python number to a tensor; a float becomes a float64."""
    return x if isinstance(x, Tensor) else Tensor(x, ms.float64) if isinstance(x, float) else Tensor(x)


def exact(x: Array, other: Array) -> Array:
    """Convert a float next to a double-precision array to float64: MindSpore would treat it as float32."""
    if isinstance(x, float) and isinstance(other, Tensor) and other.dtype in (ms.float64, ms.complex128):
        return Tensor(x, ms.float64)
    return x


def axes_of(x: Array, axis: Any) -> Any:
    """Return axes as a tuple of non-negative numbers; all axes for None."""
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, int):
        return (axis % x.ndim,)
    return tuple([a % x.ndim for a in axis])


def numel(x: Array) -> Any:
    """Return the number of elements."""
    return x.size


def transpose(x: Array) -> Array:
    """Reverse the order of all dimensions."""
    return ops.permute(x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Array) -> Array:
    """Swap the last two dimensions."""
    return ops.swapaxes(x, -1, -2)


def item(x: Any, index: Any) -> Any:
    """Return an item or a part of a tensor or list."""
    return x[index]


def zeros_like(x: Array) -> Array:
    """Return zeros with the shape and element type of `x`."""
    return ops.zeros_like(array(x))


def ones_like(x: Array) -> Array:
    """Return ones with the shape and element type of `x`."""
    return ops.ones_like(array(x))


def full_like(x: Array, value: Any) -> Array:
    """Return a tensor like `x`, filled with a value."""
    return ops.full_like(x, value)


def zeros(shape: Any, dtype: Any) -> Array:
    """Return zeros of a shape and element type."""
    return ops.zeros(shape, dtype)


def ones(shape: Any, dtype: Any) -> Array:
    """Return ones of a shape and element type."""
    return ops.ones(shape, dtype)


def astype(x: Array, dtype: Any) -> Array:
    """Convert to another element type."""
    return ops.cast(array(x), dtype)


def negative(x: Array) -> Array:
    """Return the negative of each element."""
    return -x


def absolute(x: Array) -> Array:
    """Return the absolute value of each element."""
    return ops.abs(array(x))


def sign(x: Array) -> Array:
    """Return the sign of each element."""
    return ops.sign(array(x))


def square(x: Array) -> Array:
    """Return the square of each element."""
    return x * x


def sqrt(x: Array) -> Array:
    """Return the square root of each element."""
    return ops.sqrt(array(x))


def rsqrt(x: Array) -> Array:
    """Return the reciprocal of the square root of each element."""
    return ops.rsqrt(array(x))


def reciprocal(x: Array) -> Array:
    """Return the reciprocal of each element."""
    return 1 / array(x)


def exp(x: Array) -> Array:
    """Return the exponential of each element."""
    return ops.exp(array(x))


def expm1(x: Array) -> Array:
    """Return the exponential of each element minus one."""
    return ops.expm1(array(x))


def log(x: Array) -> Array:
    """Return the natural logarithm of each element."""
    return ops.log(array(x))


def log1p(x: Array) -> Array:
    """Return the natural logarithm of one plus each element."""
    return ops.log1p(array(x))


def log2(x: Array) -> Array:
    """Return the base 2 logarithm of each element."""
    return ops.log2(array(x))


def log10(x: Array) -> Array:
    """Return the base 10 logarithm of each element."""
    return ops.log10(array(x))


def sigmoid(x: Array) -> Array:
    """Return the logistic sigmoid of each element."""
    return ops.sigmoid(array(x))


def erf(x: Array) -> Array:
    """Return the error function of each element."""
    return ops.erf(array(x))


def sin(x: Array) -> Array:
    """Return the sine of each element."""
    return ops.sin(array(x))


def cos(x: Array) -> Array:
    """Return the cosine of each element."""
    return ops.cos(array(x))


def tan(x: Array) -> Array:
    """Return the tangent of each element."""
    return ops.tan(array(x))


def sinh(x: Array) -> Array:
    """Return the hyperbolic sine of each element."""
    return ops.sinh(array(x))


def cosh(x: Array) -> Array:
    """Return the hyperbolic cosine of each element."""
    return ops.cosh(array(x))


def tanh(x: Array) -> Array:
    """Return the hyperbolic tangent of each element."""
    return ops.tanh(array(x))


def asin(x: Array) -> Array:
    """Return the inverse sine of each element."""
    return ops.asin(array(x))


def acos(x: Array) -> Array:
    """Return the inverse cosine of each element."""
    return ops.acos(array(x))


def atan(x: Array) -> Array:
    """Return the inverse tangent of each element."""
    return ops.atan(array(x))


def asinh(x: Array) -> Array:
    """Return the inverse hyperbolic sine of each element."""
    return ops.asinh(array(x))


def acosh(x: Array) -> Array:
    """Return the inverse hyperbolic cosine of each element."""
    return ops.acosh(array(x))


def atanh(x: Array) -> Array:
    """Return the inverse hyperbolic tangent of each element."""
    return ops.atanh(array(x))


def floor(x: Array) -> Array:
    """Round each element down."""
    return ops.floor(array(x))


def ceil(x: Array) -> Array:
    """Round each element up."""
    return ops.ceil(array(x))


def rounded(x: Array) -> Array:
    """Round each element to the nearest whole number, and halves to even."""
    return ops.round(array(x))


def trunc(x: Array) -> Array:
    """Round each element toward zero."""
    return ops.trunc(array(x))


def isnan(x: Array) -> Array:
    """Return for each element whether it is NaN."""
    return ops.isnan(array(x))


def isinf(x: Array) -> Array:
    """Return for each element whether it is infinite."""
    return ops.isinf(array(x))


def isfinite(x: Array) -> Array:
    """Return for each element whether it is finite."""
    return ops.isfinite(array(x))


def logical_not(x: Array) -> Array:
    """Return for each element whether it is zero or false."""
    return ops.logical_not(array(x))


def real(x: Array) -> Array:
    """Return the real part of each element."""
    return ops.real(array(x))


def imag(x: Array) -> Array:
    """Return the imaginary part of each element."""
    return ops.imag(array(x))


def conj(x: Array) -> Array:
    """Return the complex conjugate of each element; `x` itself if it is real."""
    return ops.conj(x) if isinstance(x, Tensor) and x.dtype in (ms.complex64, ms.complex128) else x


def add(x1: Array, x2: Array) -> Array:
    """Return the sum of both arrays."""
    return exact(x1, x2) + exact(x2, x1)


def subtract(x1: Array, x2: Array) -> Array:
    """Return the difference of both arrays."""
    return exact(x1, x2) - exact(x2, x1)


def multiply(x1: Array, x2: Array) -> Array:
    """Return the product of both arrays."""
    return exact(x1, x2) * exact(x2, x1)


def divide(x1: Array, x2: Array) -> Array:
    """Return the quotient of both arrays."""
    return exact(x1, x2) / exact(x2, x1)


def floor_divide(x1: Array, x2: Array) -> Array:
    """Return the quotient of both arrays, rounded down."""
    return exact(x1, x2) // exact(x2, x1)


def remainder(x1: Array, x2: Array) -> Array:
    """Return the remainder of dividing the first array by the second."""
    return exact(x1, x2) % exact(x2, x1)


def power(x1: Array, x2: Array) -> Array:
    """Return the first array raised to the power of the second."""
    return exact(x1, x2) ** exact(x2, x1)


def atan2(x1: Array, x2: Array) -> Array:
    """Return the angle of the point (x2, x1)."""
    return ops.atan2(array(exact(x1, x2)), array(exact(x2, x1)))


def maximum(x1: Array, x2: Array) -> Array:
    """Return the larger element of each pair."""
    return ops.maximum(array(exact(x1, x2)), exact(x2, x1))


def minimum(x1: Array, x2: Array) -> Array:
    """Return the smaller element of each pair."""
    return ops.minimum(array(exact(x1, x2)), exact(x2, x1))


def equal(x1: Array, x2: Array) -> Array:
    """Return for each pair whether it is equal."""
    return exact(x1, x2) == exact(x2, x1)


def not_equal(x1: Array, x2: Array) -> Array:
    """Return for each pair whether it differs."""
    return exact(x1, x2) != exact(x2, x1)


def less(x1: Array, x2: Array) -> Array:
    """Return for each pair whether the first is less."""
    return exact(x1, x2) < exact(x2, x1)


def less_equal(x1: Array, x2: Array) -> Array:
    """Return for each pair whether the first is less or equal."""
    return exact(x1, x2) <= exact(x2, x1)


def greater(x1: Array, x2: Array) -> Array:
    """Return for each pair whether the first is greater."""
    return exact(x1, x2) > exact(x2, x1)


def greater_equal(x1: Array, x2: Array) -> Array:
    """Return for each pair whether the first is greater or equal."""
    return exact(x1, x2) >= exact(x2, x1)


def logical_and(x1: Array, x2: Array) -> Array:
    """Return for each pair whether both are true."""
    return ops.logical_and(array(x1), array(x2))


def logical_or(x1: Array, x2: Array) -> Array:
    """Return for each pair whether one is true."""
    return ops.logical_or(array(x1), array(x2))


def logical_xor(x1: Array, x2: Array) -> Array:
    """Return for each pair whether exactly one is true."""
    return ops.logical_xor(array(x1), array(x2))


def matmul(x1: Array, x2: Array) -> Array:
    """Return the matrix product."""
    return ops.matmul(x1, x2)


def tensordot(x1: Array, x2: Array, axes: Any) -> Array:
    """Sum products over a number of axes, or over one axis of each array."""
    if isinstance(axes, int):
        left, right, count = x1, x2, axes
    else:
        left = ops.movedim(x1, axes[0], -1)
        right = ops.movedim(x2, axes[1], 0)
        count = 1
    size = 1
    for k in range(count):
        size = size * right.shape[k]
    product = ops.matmul(ops.reshape(left, (-1, size)), ops.reshape(right, (size, -1)))
    return ops.reshape(product, left.shape[: left.ndim - count] + right.shape[count:])


def where(condition: Array, x1: Array, x2: Array) -> Array:
    """Select elements of `x1` where the condition is true, and of `x2` elsewhere."""
    return ops.where(condition, exact(x1, x2), exact(x2, x1))


def clip(x: Array, low: Any, high: Any) -> Array:
    """Limit elements to a range; a bound of None does not limit."""
    if low is not None:
        x = ops.maximum(x, exact(low, x))
    if high is not None:
        x = ops.minimum(x, exact(high, x))
    return x


def without(x: Array, axes: Any, keepdims: bool) -> Array:
    """Remove the axes of a reduction that kept them, unless `keepdims` is true."""
    if keepdims:
        return x
    return ops.reshape(x, tuple([x.shape[k] for k in range(x.ndim) if k not in axes]))


def summed(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the sum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceSum(True)(x, axes), axes, keepdims)


def prod(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the product along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceProd(True)(x, axes), axes, keepdims)


def mean(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the mean along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceMean(True)(x, axes), axes, keepdims)


def largest(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the maximum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amax(x, axes, True), axes, keepdims)


def smallest(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the minimum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amin(x, axes, True), axes, keepdims)


def every(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return whether all elements along axes are true."""
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAll(True)(truth, axes), axes, keepdims)


def some(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return whether any element along axes is true."""
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAny(True)(truth, axes), axes, keepdims)


def var(x: Array, axis: Any, correction: Any, keepdims: bool) -> Array:
    """Return the variance along axes, dividing by the count minus `correction`."""
    center = mean(x, axis, True)
    distance = summed((x - center) * (x - center), axis, True)
    return without(distance / (x.size / center.size - correction), axes_of(x, axis), keepdims)


def std(x: Array, axis: Any, correction: Any, keepdims: bool) -> Array:
    """Return the standard deviation along axes."""
    return ops.sqrt(var(x, axis, correction, keepdims))


def argmax(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the index of the maximum along an axis, or of all elements for None."""
    if axis is None:
        place = ops.argmax(ops.reshape(x, (-1,)), 0)
        return ops.reshape(place, (1,) * x.ndim) if keepdims else place
    return ops.argmax(x, axis, keepdims)


def argmin(x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the index of the minimum along an axis, or of all elements for None."""
    return argmax(-x, axis, keepdims)


def cumulative_sum(x: Array, axis: Any) -> Array:
    """Return the cumulative sum along an axis, by default the last."""
    return ops.cumsum(x, -1 if axis is None else axis)


def reshape(x: Array, shape: Any) -> Array:
    """Change the shape."""
    return ops.reshape(x, shape)


def broadcast_to(x: Array, shape: Any) -> Array:
    """Broadcast to a shape."""
    return ops.broadcast_to(array(x), shape)


def sum_to(x: Array, shape: Any) -> Array:
    """Sum to a shape, which reverses a broadcast."""
    added = x.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        [added + k for k in range(len(shape)) if shape[k] == 1 and x.shape[added + k] != 1]
    )
    return ops.reshape(summed(x, axes, True), shape)


def permute_dims(x: Array, axes: Any) -> Array:
    """Reorder the dimensions."""
    return ops.permute(x, axes_of(x, axes))


def expand_dims(x: Array, axis: Any) -> Array:
    """Insert a dimension of size one."""
    return ops.expand_dims(x, axis)


def squeeze(x: Array, axes: Any) -> Array:
    """Remove axes of size one."""
    return without(x, axes_of(x, axes), False)


def flip(x: Array, axis: Any) -> Array:
    """Reverse the order of elements along axes."""
    return ops.flip(x, axes_of(x, axis))


def roll(x: Array, shift: Any, axis: Any) -> Array:
    """Shift elements along axes, or all of them for None; elements that leave the end return at the start."""
    if axis is None:
        return ops.reshape(roll(ops.reshape(x, (-1,)), shift, 0), x.shape)
    shifts = (shift,) if isinstance(shift, int) else shift
    axes = (axis,) if isinstance(axis, int) else axis
    for k in range(len(axes)):
        size = x.shape[axes[k]]
        places = (ops.arange(size) - shifts[k]) % size
        x = ops.gather(x, places, axes[k] % x.ndim)
    return x


def take(x: Array, indices: Array, axis: Any) -> Array:
    """Select elements along an axis by indices."""
    return ops.gather(x, indices, axis % x.ndim)


def tril(x: Array, k: Any) -> Array:
    """Return the lower triangle, with zeros elsewhere."""
    return ops.tril(x, k)


def triu(x: Array, k: Any) -> Array:
    """Return the upper triangle, with zeros elsewhere."""
    return ops.triu(x, k)


def concat(arrays: Any, axis: Any) -> Array:
    """Join arrays along an axis."""
    return ops.cat(arrays, axis)


def stack(arrays: Any, axis: Any) -> Array:
    """Join arrays along a new axis."""
    return ops.stack(arrays, axis)


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

_RENAMED: Mapping[str, Callable[..., Array]] = {
    "abs": absolute,
    "round": rounded,
    "pow": power,
    "sum": summed,
    "max": largest,
    "min": smallest,
    "all": every,
    "any": some,
}
"""Functions whose array API name is a Python built-in."""

FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {name: _RENAMED.get(name) or globals()[name] for name in ARRAY_FUNCTIONS}
)
