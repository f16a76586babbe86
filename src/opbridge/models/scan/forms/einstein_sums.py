"""Sums of products by letters: each operand after the first is one matrix product."""

from __future__ import annotations

from collections.abc import Sequence

from mindspore import Tensor, ops

Arrangement = tuple[tuple[int, ...], tuple[int, ...]]
"""The axes to sum, and the order of those that are left."""
Step = tuple[Arrangement, Arrangement, int, int, int]
"""The arrangements of two operands, and the numbers of their common axes, of the rows and of the summed axes."""


def einsum(equation: str, tensors: Sequence[Tensor], path: Sequence[int] | None = None) -> Tensor:
    """Compute an Einstein sum, operand after operand."""
    steps, last = _plan(equation, len(tensors))
    found = tensors[0]
    for place in range(len(steps)):
        found = _product(found, tensors[place + 1], steps[place])
    return _arranged(found, last)


@ops.constexpr  # type: ignore[untyped-decorator]
def _plan(equation: str, count: int) -> tuple[tuple[Step, ...], Arrangement]:
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


def _step(one: str, other: str, kept: str) -> tuple[Step, str]:
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


def _arrangement(letters: str, wanted: str) -> Arrangement:
    """Return the axes to sum, and the order of those that are left."""
    left = [each for each in letters if each in wanted]
    axes = tuple([place for place, each in enumerate(letters) if each not in wanted])
    return axes, tuple([left.index(each) for each in wanted])


def _arranged(value: Tensor, arrangement: Arrangement) -> Tensor:
    axes, order = arrangement
    value = value.sum(axes) if len(axes) else value
    return ops.transpose(value, order) if len(order) > 1 else value


def _product(one: Tensor, other: Tensor, step: Step) -> Tensor:
    first, second, batch, rows, summed = step
    one, other = _arranged(one, first), _arranged(other, second)
    sizes, more = one.shape, other.shape
    inner = _count(sizes[batch + rows :])
    left = one.reshape((*sizes[:batch], _count(sizes[batch : batch + rows]), inner))
    right = other.reshape((*more[:batch], inner, _count(more[batch + summed :])))
    return ops.matmul(left, right).reshape((*sizes[: batch + rows], *more[batch + summed :]))


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count = count * size
    return count
