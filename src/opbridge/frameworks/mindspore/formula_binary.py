"""Compute derivative formulas element by element, in MindSpore: functions of several tensors, and products.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindspore import ops

from opbridge.frameworks.mindspore.formula_values import Array, array, exact


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


def tensordot(x1: Array, x2: Array, axes: int | Sequence[Sequence[int]]) -> Array:
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


def clip(x: Array, low: Array, high: Array) -> Array:
    """Limit elements to a range; a bound of None does not limit."""
    if low is not None:
        x = ops.maximum(x, exact(low, x))
    if high is not None:
        x = ops.minimum(x, exact(high, x))
    return x
