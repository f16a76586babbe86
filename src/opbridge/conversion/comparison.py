"""What is found where a converted network is held against PyTorch's: plain data, without a framework."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

TOLERANCE = 1e-4
"""Of the largest number that PyTorch has in a tensor."""


@dataclass(frozen=True)
class Comparison:
    what: str
    """`value`, `gradient of conv1.weight`, `conv1.weight after 3 steps`."""
    difference: float
    """The largest, as a part of the largest number that PyTorch has there."""

    @property
    def is_right(self) -> bool:
        return self.difference <= TOLERANCE

    def fields(self) -> dict[str, Any]:
        return {"what": self.what, "difference": _finite(self.difference), "agrees": self.is_right}


@dataclass(frozen=True)
class Difference:
    """An operator that does not give what PyTorch's gives."""

    operator: str
    """`aten::relu`."""
    module: str
    """`blocks.0`; empty for the network."""
    what: str
    """`value` or `gradient`."""
    amount: float
    line: str
    """Of PyTorch's network: `File "net.py", line 12, in forward`."""
    source: str
    """Of the converted one: `net_ms/network.py:31: relu = aten_relu(add)`."""

    def fields(self) -> dict[str, Any]:
        return {**asdict(self), "amount": _finite(self.amount)}

    def __str__(self) -> str:
        where = f" in {self.module}" if self.module else ""
        return f"{self.operator}{where}: its {self.what} is {self.amount:.1e} off\n  {self.line}\n  {self.source}"


def _finite(amount: float) -> float | None:
    """None where one side has a number and the other has none, which JSON cannot say."""
    return amount if isfinite(amount) else None
