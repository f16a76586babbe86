"""Reduce tensors along axes, for derivative formulas in MindSpore.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

import mindspore as ms
from mindspore import ops

from opbridge.frameworks.mindspore.formula_values import Array, Axes, Shape, axes_of, without


def summed(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the sum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceSum(True)(x, axes), axes, keepdims)


def prod(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the product along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceProd(True)(x, axes), axes, keepdims)


def mean(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the mean along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.ReduceMean(True)(x, axes), axes, keepdims)


def largest(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the maximum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amax(x, axes, True), axes, keepdims)


def smallest(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the minimum along axes."""
    axes = axes_of(x, axis)
    return x if axes == () else without(ops.amin(x, axes, True), axes, keepdims)


def every(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return whether all elements along axes are true."""
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAll(True)(truth, axes), axes, keepdims)


def some(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return whether any element along axes is true."""
    axes = axes_of(x, axis)
    truth = ops.cast(x, ms.bool_)
    return truth if axes == () else without(ops.ReduceAny(True)(truth, axes), axes, keepdims)


def var(x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    """Return the variance along axes, dividing by the count minus `correction`."""
    center = mean(x, axis, True)
    distance = summed((x - center) * (x - center), axis, True)
    return without(distance / (x.size / center.size - correction), axes_of(x, axis), keepdims)


def std(x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    """Return the standard deviation along axes."""
    return ops.sqrt(var(x, axis, correction, keepdims))


def argmax(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the index of the maximum along an axis, or of all elements for None."""
    if axis is None:
        place = ops.argmax(ops.reshape(x, (-1,)), 0)
        return ops.reshape(place, (1,) * x.ndim) if keepdims else place
    return ops.argmax(x, axis, keepdims)


def argmin(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return the index of the minimum along an axis, or of all elements for None."""
    return argmax(-x, axis, keepdims)


def cumulative_sum(x: Array, axis: Axes) -> Array:
    """Return the cumulative sum along an axis, by default the last."""
    return ops.cumsum(x, -1 if axis is None else axis)


def sum_to(x: Array, shape: Shape) -> Array:
    """Sum to a shape, which reverses a broadcast."""
    added = x.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        [added + k for k in range(len(shape)) if shape[k] == 1 and x.shape[added + k] != 1]
    )
    return ops.reshape(summed(x, axes, True), shape)
