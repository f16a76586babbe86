"""Change the shape and the order of elements, for derivative formulas in MindSpore.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindspore import ops

from opbridge.frameworks.mindspore.formula_values import Array, Axes, Shape, array, axes_of, without


def transpose(x: Array) -> Array:
    """Reverse the order of all dimensions."""
    return ops.permute(x, tuple(range(x.ndim - 1, -1, -1)))


def matrix_transpose(x: Array) -> Array:
    """Swap the last two dimensions."""
    return ops.swapaxes(x, -1, -2)


def reshape(x: Array, shape: Shape) -> Array:
    """Change the shape."""
    return ops.reshape(x, shape)


def broadcast_to(x: Array, shape: Shape) -> Array:
    """Broadcast to a shape."""
    return ops.broadcast_to(array(x), shape)


def permute_dims(x: Array, axes: Axes) -> Array:
    """Reorder the dimensions."""
    return ops.permute(x, axes_of(x, axes))


def expand_dims(x: Array, axis: Axes) -> Array:
    """Insert a dimension of size one."""
    return ops.expand_dims(x, axis)


def squeeze(x: Array, axes: Axes) -> Array:
    """Remove axes of size one."""
    return without(x, axes_of(x, axes), False)


def flip(x: Array, axis: Axes) -> Array:
    """Reverse the order of elements along axes."""
    return ops.flip(x, axes_of(x, axis))


def roll(x: Array, shift: Array, axis: Axes) -> Array:
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


def take(x: Array, indices: Array, axis: Axes) -> Array:
    """Select elements along an axis by indices."""
    return ops.gather(x, indices, axis % x.ndim)


def tril(x: Array, k: int) -> Array:
    """Return the lower triangle, with zeros elsewhere."""
    return ops.tril(x, k)


def triu(x: Array, k: int) -> Array:
    """Return the upper triangle, with zeros elsewhere."""
    return ops.triu(x, k)


def concat(arrays: Sequence[Array], axis: Axes) -> Array:
    """Join arrays along an axis."""
    return ops.cat(arrays, axis)


def stack(arrays: Sequence[Array], axis: Axes) -> Array:
    """Join arrays along a new axis."""
    return ops.stack(arrays, axis)
