"""Sums of products by letters: each operand after the first is one matrix product."""

from __future__ import annotations

from typing import Any

from mindspore import ops


def einsum(equation: str, tensors: Any, path: Any = None) -> Any:
    """Compute an Einstein sum, operand after operand."""
    steps, last = _plan(equation, len(tensors))
    found = tensors[0]
    for place in range(len(steps)):
        found = _product(found, tensors[place + 1], steps[place])
    return _arranged(found, last)


@ops.constexpr  # type: ignore[untyped-decorator]
def _plan(equation: str, count: int) -> Any:
    """Return the arrangements of each step, and that of the last result; a graph knows them while it compiles."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    operands = given.split(",")
    if not arrow or "." in given or len(operands) != count or any(len(set(each)) < len(each) for each in operands):
        raise ValueError("ops.matmul has no sum with an ellipsis, a diagonal or no arrow")
    letters, steps = operands[0], []
    for place in range(1, count):
        kept = result + "".join(operands[place + 1 :])
        step, letters = _step(letters, operands[place], kept)
        steps.append(step)
    return tuple(steps), _arrangement(letters, result)


def _step(one: str, other: str, kept: str) -> Any:
    """Return the arrangements of two operands, and the letters of their product.

    Both begin with their common letters that are kept. The letters that are summed come last in the first operand and
    next in the second.
    """
    batch = "".join(each for each in one if each in other and each in kept)
    summed = "".join(each for each in one if each in other and each not in kept)
    rows = "".join(each for each in one if each not in other and each in kept)
    columns = "".join(each for each in other if each not in one and each in kept)
    arranged = _arrangement(one, batch + rows + summed), _arrangement(other, batch + summed + columns)
    return (*arranged, len(batch), len(rows), len(summed)), batch + rows + columns


def _arrangement(letters: str, wanted: str) -> Any:
    """Return the axes to sum, and the order of those that are left."""
    left = [each for each in letters if each in wanted]
    axes = tuple([place for place, each in enumerate(letters) if each not in wanted])
    return axes, tuple([left.index(each) for each in wanted])


def _arranged(value: Any, arrangement: Any) -> Any:
    axes, order = arrangement
    value = value.sum(axes) if len(axes) else value
    return ops.transpose(value, order) if len(order) > 1 else value


def _product(one: Any, other: Any, step: Any) -> Any:
    first, second, batch, rows, summed = step
    one, other = _arranged(one, first), _arranged(other, second)
    sizes, more = one.shape, other.shape
    inner = _count(sizes[batch + rows :])
    left = one.reshape((*sizes[:batch], _count(sizes[batch : batch + rows]), inner))
    right = other.reshape((*more[:batch], inner, _count(more[batch + summed :])))
    return ops.matmul(left, right).reshape((*sizes[: batch + rows], *more[batch + summed :]))


def _count(sizes: Any) -> Any:
    count = 1
    for size in sizes:
        count = count * size
    return count
