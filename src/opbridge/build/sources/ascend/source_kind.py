"""The ways in which an Ascend C source serves an operator.

Like other sources, it may have a function with the plain C call or one on kernel.h, which starts kernels by
`k<<<...>>>`. If the operator names a `__global__` function itself, opbridge generates the function that starts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbridge.build.cxx.ascend_kernels import AscendSource

ASCEND_C = ("npu", "ascend-twin")
"""The devices whose sources are Ascend C."""


@dataclass(frozen=True)
class Use:
    """One operator's use of a source."""

    operator: str
    schema: str
    symbol: str
    launch: tuple[tuple[str, str], ...] = ()
    """The `launch` rule, by kernel parameter."""

    @property
    def host(self) -> str:
        """The name of the function that starts the kernel."""
        return "ob_host_" + re.sub(r"\W+", "_", self.operator)


@dataclass(frozen=True)
class AscendUses:
    """The operators that use one source, which is read only once."""

    source: AscendSource | None
    uses: tuple[Use, ...]

    @classmethod
    def of(cls, path: Path, uses: Iterable[Use]) -> AscendUses:
        """Read a source and pair it with the operators that use it."""
        from opbridge.build.cxx.ascend_kernels import read_kernels  # large libraries of other kernels do not need it

        return cls(read_kernels(path), tuple(uses))

    @property
    def bare(self) -> tuple[Use, ...]:
        """The uses of `__global__` functions, which cannot be called as functions."""
        kernels = self.source.global_functions if self.source else set()
        return tuple(use for use in self.uses if use.symbol in kernels)
