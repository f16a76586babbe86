"""How many cycles an instruction takes, by the published rates of its pipe.

Published are the width of the vector unit, the products of the matrix unit, the rate of the chip's memory, that copies
from 16 kB on are as fast as they get, and that addresses between multiples of 512 bytes take up to 30 percent of it.
What an instruction takes besides is published nowhere: the constants below are rules of thumb.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opbridge.costs.ascend.recorded import Step
from opbridge.costs.chips import Chip

ISSUE = 4
"""From one instruction that the scalar unit hands out to the next."""
VECTOR_HEAD = 12
COPY_HEAD = 64
"""With it copies of 16 kB reach nine tenths of the rate, and such of 2 kB two thirds."""
LOCAL_HEAD = 16
SCALAR = 16
"""A scalar read from or written to local memory; one of global memory takes as long as a copy begins."""

_REPEAT = 256
"""Bytes that the vector unit takes in a cycle, and a local copy moves."""
_PRODUCTS = 16 * 16 * 16
"""Of halves, by the matrix unit in a cycle."""
_HALF, _SUM = 2, 4
"""Bytes of what is multiplied and of what it is added to."""
_LOST_BY_ALIGNMENT = 0.3
_WIDEST_PORT = 128
"""Bytes that a core takes from memory in a cycle at most, however few share it."""


@dataclass(frozen=True)
class Rates:
    """Of one core, while so many work."""

    bytes_a_cycle: float
    """From and to global memory."""

    @staticmethod
    def of(chip: Chip, cores: int) -> Rates:
        return Rates(min(chip.memory_rate / (max(cores, 1) * chip.hertz), _WIDEST_PORT))

    def cycles(self, step: Step) -> float:
        moved = step.from_global + step.to_global
        if step.site.pipe == "S":
            return COPY_HEAD if moved else SCALAR
        if moved:
            return COPY_HEAD + moved / self._effective(step)
        if step.site.pipe == "V":
            return VECTOR_HEAD + math.ceil(step.widest / _REPEAT)
        if step.site.pipe == "M":
            return LOCAL_HEAD + math.ceil(_products(step) / _PRODUCTS)
        return LOCAL_HEAD + math.ceil(step.widest / _REPEAT)

    def _effective(self, step: Step) -> float:
        return self.bytes_a_cycle * (1 - _LOST_BY_ALIGNMENT * step.misaligned / max(step.pieces, 1))


def _products(step: Step) -> float:
    """Of m x k by k x n, whose three tensors have (m k) (k n) (m n) elements."""
    left, right, sums = (step.bytes_of(memory) for memory in ("L0A", "L0B", "L0C"))
    return math.sqrt(left / _HALF * right / _HALF * sums / _SUM)
