"""What a derivative's formula may call, in MindSpore's terms; Graph mode compiles these functions too.

Parameters are those of the array API, all of them passed by position.  Where an array is expected a Python number may
stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops
from mindspore.ops import functional

from opbridge.rules import ARRAY_FUNCTIONS

Array = Any


def array(x: Array) -> Array:
    return x if isinstance(x, Tensor) else Tensor(x, ms.float64) if isinstance(x, float) else Tensor(x)


def exact(x: Array, other: Array) -> Array:
    """A number beside an array: to MindSpore a Python float is a float32, even where the array is more precise."""
    if isinstance(x, float) and isinstance(other, Tensor) and other.dtype in (ms.float64, ms.complex128):
        return Tensor(x, ms.float64)
    return x


def axes_of(x: Array, axis: Any) -> Any:
    if axis is None:
        return tuple(range(x.ndim))
    if isinstance(axis, int):
        return (axis % x.ndim,)
    return tuple([a % x.ndim for a in axis])


def numel(x: Array) -> Any:
    return x.size


def transpose(x: Array) -> Array:
    return ops.permute(x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Array) -> Array:
    return ops.swapaxes(x, -1, -2)


def item(x: Any, index: Any) -> Any:
    return x[index]


def zeros_like(x: Array) -> Array:
    return ops.zeros_like(array(x))


def ones_like(x: Array) -> Array:
    return ops.ones_like(array(x))


def full_like(x: Array, value: Any) -> Array:
    return ops.full_like(x, value)


def zeros(shape: Any, dtype: Any) -> Array:
    return ops.zeros(shape, dtype)


def ones(shape: Any, dtype: Any) -> Array:
    return ops.ones(shape, dtype)


def astype(x: Array, dtype: Any) -> Array:
    return ops.cast(array(x), dtype)


def negative(x: Array) -> Array:
    return -x


def absolute(x: Array) -> Array:
    return ops.abs(array(x))


def sign(x: Array) -> Array:
    return ops.sign(array(x))


def square(x: Array) -> Array:
    return x * x


def sqrt(x: Array) -> Array:
    return ops.sqrt(array(x))


def rsqrt(x: Array) -> Array:
    return ops.rsqrt(array(x))


def reciprocal(x: Array) -> Array:
    return 1 / array(x)


def exp(x: Array) -> Array:
    return ops.exp(array(x))


def expm1(x: Array) -> Array:
    return ops.expm1(array(x))


def log(x: Array) -> Array:
    return ops.log(array(x))


def log1p(x: Array) -> Array:
    return ops.log1p(array(x))


def log2(x: Array) -> Array:
    return ops.log2(array(x))


def log10(x: Array) -> Array:
    return ops.log10(array(x))


def sigmoid(x: Array) -> Array:
    return ops.sigmoid(array(x))


def erf(x: Array) -> Array:
    return ops.erf(array(x))


def sin(x: Array) -> Array:
    return ops.sin(array(x))


def cos(x: Array) -> Array:
    return ops.cos(array(x))


def tan(x: Array) -> Array:
    return ops.tan(array(x))


def sinh(x: Array) -> Array:
    return ops.sinh(array(x))


def cosh(x: Array) -> Array:
    return ops.cosh(array(x))


def tanh(x: Array) -> Array:
    return ops.tanh(array(x))


def asin(x: Array) -> Array:
    return ops.asin(array(x))


def acos(x: Array) -> Array:
    return ops.acos(array(x))


def atan(x: Array) -> Array:
    return ops.atan(array(x))


def asinh(x: Array) -> Array:
    return ops.asinh(array(x))


def acosh(x: Array) -> Array:
    return ops.acosh(array(x))


def atanh(x: Array) -> Array:
    return ops.atanh(array(x))


def floor(x: Array) -> Array:
    return ops.floor(array(x))


def ceil(x: Array) -> Array:
    return ops.ceil(array(x))


def rounded(x: Array) -> Array:
    return ops.round(array(x))


def trunc(x: Array) -> Array:
    return ops.trunc(array(x))


def isnan(x: Array) -> Array:
    return ops.isnan(array(x))


def isinf(x: Array) -> Array:
    return ops.isinf(array(x))


def isfinite(x: Array) -> Array:
    return ops.isfinite(array(x))


def logical_not(x: Array) -> Array:
    return ops.logical_not(array(x))


def real(x: Array) -> Array:
    return ops.real(array(x))


def imag(x: Array) -> Array:
    return ops.imag(array(x))


def conj(x: Array) -> Array:
    return ops.conj(x) if isinstance(x, Tensor) and x.dtype in (ms.complex64, ms.complex128) else x


def add(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) + exact(x2, x1)


def subtract(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) - exact(x2, x1)


def multiply(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) * exact(x2, x1)


def divide(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) / exact(x2, x1)


def floor_divide(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) // exact(x2, x1)


def remainder(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) % exact(x2, x1)


def power(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) ** exact(x2, x1)


def atan2(x1: Array, x2: Array) -> Array:
    return ops.atan2(array(exact(x1, x2)), array(exact(x2, x1)))


def maximum(x1: Array, x2: Array) -> Array:
    return ops.maximum(array(exact(x1, x2)), exact(x2, x1))


def minimum(x1: Array, x2: Array) -> Array:
    return ops.minimum(array(exact(x1, x2)), exact(x2, x1))


def equal(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) == exact(x2, x1)


def not_equal(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) != exact(x2, x1)


def less(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) < exact(x2, x1)


def less_equal(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) <= exact(x2, x1)


def greater(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) > exact(x2, x1)


def greater_equal(x1: Array, x2: Array) -> Array:
    return exact(x1, x2) >= exact(x2, x1)


def logical_and(x1: Array, x2: Array) -> Array:
    return ops.logical_and(array(x1), array(x2))


def logical_or(x1: Array, x2: Array) -> Array:
    return ops.logical_or(array(x1), array(x2))


def logical_xor(x1: Array, x2: Array) -> Array:
    return ops.logical_xor(array(x1), array(x2))


def matmul(x1: Array, x2: Array) -> Array:
    return ops.matmul(x1, x2)


def tensordot(x1: Array, x2: Array, axes: Any) -> Array:
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
    return ops.where(condition, exact(x1, x2), exact(x2, x1))


def clip(x: Array, low: Any, high: Any) -> Array:
    if low is not None:
        x = ops.maximum(x, exact(low, x))
    if high is not None:
        x = ops.minimum(x, exact(high, x))
    return x


def without(x: Array, axes: Any, keepdims: bool) -> Array:
    """What a reduction that kept its axes is without them."""
    if keepdims:
        return x
    return ops.reshape(x, tuple([x.shape[k] for k in range(x.ndim) if k not in axes]))


def summed(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceSum(True)(x, axes), axes, keepdims)


def prod(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceProd(True)(x, axes), axes, keepdims)


def mean(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceMean(True)(x, axes), axes, keepdims)


def largest(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amax(x, axes, True), axes, keepdims)


def smallest(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amin(x, axes, True), axes, keepdims)


def every(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAll(True)(truth, axes), axes, keepdims)


def some(x: Array, axis: Any, keepdims: bool) -> Array:
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAny(True)(truth, axes), axes, keepdims)


def var(x: Array, axis: Any, correction: Any, keepdims: bool) -> Array:
    center = mean(x, axis, True)
    distance = summed((x - center) * (x - center), axis, True)
    return without(distance / (x.size / center.size - correction), axes_of(x, axis), keepdims)


def std(x: Array, axis: Any, correction: Any, keepdims: bool) -> Array:
    return ops.sqrt(var(x, axis, correction, keepdims))


def argmax(x: Array, axis: Any, keepdims: bool) -> Array:
    if axis is None:
        place = ops.argmax(ops.reshape(x, (-1,)), 0)
        return ops.reshape(place, (1,) * x.ndim) if keepdims else place
    return ops.argmax(x, axis, keepdims)


def argmin(x: Array, axis: Any, keepdims: bool) -> Array:
    return argmax(-x, axis, keepdims)


def cumulative_sum(x: Array, axis: Any) -> Array:
    return ops.cumsum(x, -1 if axis is None else axis)


def reshape(x: Array, shape: Any) -> Array:
    return ops.reshape(x, shape)


def broadcast_to(x: Array, shape: Any) -> Array:
    return ops.broadcast_to(array(x), shape)


def sum_to(x: Array, shape: Any) -> Array:
    """Undoes a broadcast."""
    added = x.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        [added + k for k in range(len(shape)) if shape[k] == 1 and x.shape[added + k] != 1]
    )
    return ops.reshape(summed(x, axes, True), shape)


def permute_dims(x: Array, axes: Any) -> Array:
    return ops.permute(x, axes_of(x, axes))


def expand_dims(x: Array, axis: Any) -> Array:
    return ops.expand_dims(x, axis)


def squeeze(x: Array, axes: Any) -> Array:
    return without(x, axes_of(x, axes), False)


def flip(x: Array, axis: Any) -> Array:
    return ops.flip(x, axes_of(x, axis))


def roll(x: Array, shift: Any, axis: Any) -> Array:
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
    return ops.gather(x, indices, axis % x.ndim)


def tril(x: Array, k: Any) -> Array:
    return ops.tril(x, k)


def triu(x: Array, k: Any) -> Array:
    return ops.triu(x, k)


def concat(arrays: Any, axis: Any) -> Array:
    return ops.cat(arrays, axis)


def stack(arrays: Any, axis: Any) -> Array:
    return ops.stack(arrays, axis)


def as_gradient(gradient: Array, x: Array) -> Array:
    """A formula's value as the gradient of x: with its shape and element type, and zeros for None."""
    if not isinstance(gradient, Tensor):
        return ops.zeros_like(x)
    if functional.isconstant(gradient.shape) and functional.isconstant(x.shape) and gradient.shape != x.shape:
        gradient = sum_to(gradient, x.shape)
    return gradient if gradient.dtype == x.dtype else ops.cast(gradient, x.dtype)


def unknown_gradient(x: Array) -> Array:
    """MindSpore wants a gradient for every input, asked for or not; this one poisons what makes use of it."""
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
"""Where the array API's name is one of Python's own."""

FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {name: _RENAMED.get(name) or globals()[name] for name in ARRAY_FUNCTIONS}
)
