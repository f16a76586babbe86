"""Read the record of what was written to memory of the device during a call, and by whom.

The twin makes it, below PyTorch's dispatcher and every Python function. So it shows a right output that reaches a
kernel, whatever computed it: PyTorch, the host, or an earlier call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opbridge.analysis.judge.process.record_channel import Write
from opbridge.analysis.judge.values import Array, bytes_of_element
from opbridge.analysis.judge.verdict.bounds import Numbers, numbers
from opbridge.analysis.judge.verdict.differences import is_near

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_ROUNDED_UP = 512
"""The most bytes that memory has in addition to those that were asked for."""
_SAME, _ALIKE = 1e-4, 4e-3
"""How exact the order of numbers is, by their range: of results, and of inputs, which may be half types."""
_FEW = 16
"""The fewest elements whose order cannot be by chance."""


@dataclass(frozen=True)
class Output:
    """A right output, in float64 and as the reference computes it."""

    exact: Array
    rounded: Array

    @property
    def count(self) -> int:
        """The number of elements."""
        return numbers(self.exact).size

    @property
    def is_telling(self) -> bool:
        """Whether memory that holds these numbers holds the output: zeros and masks are there for other reasons too."""
        exact = numbers(self.exact)
        return bool(np.any((exact != 0) & (exact != 1)) and np.any(exact != exact.flat[0]))

    def is_in(self, write: Write, *, in_any_order: bool = False) -> bool:
        """Return whether memory holds the output, in any floating-point type."""
        return any(is_near(one, self.exact, self.rounded, in_any_order=in_any_order) for one in self.read_from(write))

    def read_from(self, write: Write) -> list[Array]:
        """Return what memory holds as arrays of the shape of the output, in each floating-point type of its size."""
        own = self.rounded.dtype
        return self._read_as(write.data, dict.fromkeys((own, *(_FLOATS if own in _FLOATS else ()))))

    def _read_as(self, data: bytes, types: dict[str, None]) -> list[Array]:
        count = 1
        for size in self.rounded.shape:
            count *= size
        wanted = {dtype: count * bytes_of_element(dtype) for dtype in types}
        return [
            Array(dtype, self.rounded.shape, data[:size])
            for dtype, size in wanted.items()
            if size <= len(data) < size + _ROUNDED_UP
        ]


def is_only_moved(output: Output, writes: list[Write]) -> bool:
    """Return whether others computed the output, and a kernel then wrote it without having computed it before."""
    is_by_others = False
    for write in writes:
        if write.is_by_kernel and is_by_others and output.is_in(write):
            return True
        if write.is_by_kernel and not is_by_others and output.is_in(write, in_any_order=True):
            return False
        is_by_others = is_by_others or (not write.is_by_kernel and output.is_in(write))
    return False


def is_one_step_from(output: Output, others: list[Array], given: list[Array]) -> bool:
    """Return whether one of others' results only lacks a last step, which takes each element by itself.

    Its elements have the order of the output's then, or the reverse one. Inputs, in any type, do not count as results.
    """
    exact = numbers(output.exact)
    if exact.dtype.kind != "f" or exact.size < _FEW:
        return False
    inputs = [numbers(one) for one in given if one.dtype in _FLOATS]
    return any(
        _has_same_order(result, exact, _SAME) and not any(_has_same_order(result, one, _ALIKE) for one in inputs)
        for result in (numbers(one) for one in others if one.dtype in _FLOATS)
    )


def _has_same_order(one: Numbers, other: Numbers, part: float) -> bool:
    """Return whether each is a function of the other that only rises, or only falls, up to a part of its range."""
    if one.size != other.size or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    left, right = one.ravel(), other.ravel()
    return _follows(left, right, part) and _follows(right, left, part)


def _follows(one: Numbers, other: Numbers, part: float) -> bool:
    """Return whether `other` rises, or falls, with `one`."""
    sorted_by_one = other[np.argsort(one, kind="stable")]
    slack = part * np.ptp(other)
    if slack == 0:
        return False
    highest, lowest = np.maximum.accumulate(sorted_by_one), np.minimum.accumulate(sorted_by_one)
    return bool(np.all(sorted_by_one >= highest - slack) or np.all(sorted_by_one <= lowest + slack))


def arrays_written(output: Output, writes: list[Write]) -> list[Array]:
    """Return what memory held that others wrote, as arrays like an output, in each type of that size."""
    return [one for write in writes if not write.is_by_kernel for one in output.read_from(write)]
