"""Estimate the cycles of an instruction, from the published rates of its pipe.

Published are the width of the vector unit, the products of the matrix unit, and the rate of the chip's memory. Copies
are published to reach full speed from 16 kB on. Addresses between multiples of 512 bytes are published to lose up to
30 percent of it. No source publishes the remaining costs of an instruction: the constants below are rules of thumb.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opbridge.analysis.profile.ascend.instruction_records import Step
from opbridge.analysis.profile.chips import Chip

ISSUE = 4
"""Cycles from one instruction that the scalar unit issues to the next."""
VECTOR_HEAD = 12
COPY_HEAD = 64
"""With this value, copies of 16 kB reach nine tenths of the rate, and copies of 2 kB two thirds."""
LOCAL_HEAD = 16
SCALAR = 16
"""Cycles of a scalar access to local memory; one to global memory takes as long as the start of a copy."""

_REPEAT = 256
"""Bytes that the vector unit processes, or a local copy moves, in a cycle."""
_PRODUCTS = 16 * 16 * 16
"""Products of halves that the matrix unit computes in a cycle."""
_HALF, _SUM = 2, 4
"""Bytes of a factor, and of the sum to which a product is added."""
_LOST_BY_ALIGNMENT = 0.3
_WIDEST_PORT = 128
"""The most bytes that a core gets from memory in a cycle, however few cores share it."""


@dataclass(frozen=True)
class Rates:
    """The rates of one core, while a number of cores work."""

    bytes_a_cycle: float
    """Bytes from and to global memory in a cycle."""

    @staticmethod
    def of(chip: Chip, cores: int) -> Rates:
        """Return the rates if `cores` share the chip's memory."""
        return Rates(min(chip.memory_rate / (max(cores, 1) * chip.hertz), _WIDEST_PORT))

    def cycles(self, step: Step) -> float:
        """Return the estimated cycles of an instruction."""
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
    """Return the products of an m x k by k x n matrix product, whose tensors have mk, kn and mn elements."""
    left, right, sums = (step.bytes_of(memory) for memory in ("L0A", "L0B", "L0C"))
    return math.sqrt(left / _HALF * right / _HALF * sums / _SUM)
