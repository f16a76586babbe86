"""Read the record of what was written to memory of the device during a call, and by whom.

The twin makes it, below PyTorch's dispatcher and every Python function. So it shows a right output that reaches a
kernel, whatever computed it: PyTorch, the host, or an earlier call.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opbridge.analysis.judge.process.jobs import MOST_WRITES
from opbridge.analysis.judge.values import Array, bytes_of_element
from opbridge.analysis.judge.verdict.bounds import numbers
from opbridge.analysis.judge.verdict.differences import is_near
from opbridge.base.safe_open import read_file

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_ROUNDED_UP = 512
"""The most bytes that memory has in addition to those that were asked for."""
_HEAD = 9


@dataclass(frozen=True)
class Write:
    """What an allocation holds after a launch, or before one."""

    is_by_kernel: bool
    data: bytes


@dataclass(frozen=True)
class Output:
    """A right output, in float64 and as the reference computes it."""

    exact: Array
    rounded: Array

    @property
    def is_telling(self) -> bool:
        """Whether memory that holds these numbers holds the output: zeros and masks are there for other reasons too."""
        exact = numbers(self.exact)
        return bool(np.any((exact != 0) & (exact != 1)) and np.any(exact != exact.flat[0]))

    def is_in(self, write: Write, *, in_any_order: bool = False) -> bool:
        """Return whether memory holds the output, in any floating-point type."""
        own = self.rounded.dtype
        return any(
            is_near(one, self.exact, self.rounded, in_any_order=in_any_order)
            for one in self._read_as(write.data, dict.fromkeys((own, *(_FLOATS if own in _FLOATS else ()))))
        )

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


def writes_in(path: Path) -> list[Write]:
    """Return the writes of a record in their order; those before the first damage if it is damaged."""
    try:
        content = read_file(path, limit=MOST_WRITES, follow=False)
    except OSError:
        return []
    found, at = [], 0
    while at + _HEAD <= len(content):
        size = int.from_bytes(content[at + 1 : at + _HEAD], "little")
        if at + _HEAD + size > len(content):
            break
        found.append(Write(content[at : at + 1] == b"k", content[at + _HEAD : at + _HEAD + size]))
        at += _HEAD + size
    return found


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
