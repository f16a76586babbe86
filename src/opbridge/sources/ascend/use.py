"""How a source of Ascend C serves an operator.

By a function with the plain C call, or on kernel.h, like any other source; that function starts kernels by
`k<<<...>>>`.  Where the operator names a `__global__` function itself, opbridge writes the function that starts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

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


def is_bare(source: Path, symbol: str) -> bool:
    """Whether the symbol is a kernel, which nobody can call as a function."""
    try:
        text = source.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False  # as the build will say
    return re.search(rf"__global__[^;{{}}()]*?\b{re.escape(symbol)}\s*\(", text) is not None
