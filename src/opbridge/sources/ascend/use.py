"""How a source of Ascend C serves an operator.

By a function with the plain C call, or on kernel.h, like any other source; that function starts kernels by
`k<<<...>>>`.  Where the operator names a `__global__` function itself, opbridge writes the function that starts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbridge.cxx.ascend_kernels import AscendSource

ASCEND_C = ("npu", "ascend-twin")
"""The devices whose sources are Ascend C."""


@dataclass(frozen=True)
class Use:
    """One operator's use of a source."""

    operator: str
    schema: str
    symbol: str
    launch: tuple[tuple[str, str], ...] = ()
    """The rule, by parameter of the kernel."""

    @property
    def host(self) -> str:
        """The function that starts its kernel."""
        return "ob_host_" + re.sub(r"\W+", "_", self.operator)


@dataclass(frozen=True)
class AscendUses:
    """What operators use of one source, which is read once for all that asks."""

    source: AscendSource | None
    uses: tuple[Use, ...]

    @classmethod
    def of(cls, path: Path, uses: Iterable[Use]) -> AscendUses:
        from opbridge.cxx.ascend_kernels import read_kernels  # large libraries of other kernels need none of it

        return cls(read_kernels(path), tuple(uses))

    @property
    def bare(self) -> tuple[Use, ...]:
        """Those of kernels, which nobody can call as functions."""
        kernels = self.source.global_functions if self.source else set()
        return tuple(use for use in self.uses if use.symbol in kernels)
