"""Change the shape and the order of elements, for derivative formulas in MindSpore.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

from typing import Any

from mindspore import ops

from opbridge.frameworks.mindspore.formula_values import array, axes_of, without

Array = Any


def transpose(x: Array) -> Array:
    """Reverse the order of all dimensions."""
    return ops.permute(x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Array) -> Array:
    """Swap the last two dimensions."""
    return ops.swapaxes(x, -1, -2)


def reshape(x: Array, shape: Any) -> Array:
    """Change the shape."""
    return ops.reshape(x, shape)


def broadcast_to(x: Array, shape: Any) -> Array:
    """Broadcast to a shape."""
    return ops.broadcast_to(array(x), shape)


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
