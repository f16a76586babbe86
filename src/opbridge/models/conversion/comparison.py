"""Results of comparing a converted network with PyTorch: plain data, without a framework."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

TOLERANCE = 1e-4
"""Relative to the largest number that PyTorch has in a tensor."""


@dataclass(frozen=True)
class Comparison:
    """One compared tensor and its difference."""

    what: str
    """`value`, `gradient of conv1.weight`, `conv1.weight after 3 steps`."""
    difference: float
    """The largest difference, relative to the largest number that PyTorch has there."""

    @property
    def is_right(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.difference <= TOLERANCE

    def fields(self) -> dict[str, Any]:
        """Return the comparison as fields for JSON."""
        return {"what": self.what, "difference": _finite(self.difference), "agrees": self.is_right}


@dataclass(frozen=True)
class Difference:
    """An operator whose value or gradient differs from PyTorch."""

    operator: str
    """`aten::relu`."""
    module: str
    """`blocks.0`; empty for the network."""
    what: str
    """`value` or `gradient`."""
    amount: float
    line: str
    """The line of the PyTorch network: `File "net.py", line 12, in forward`."""
    source: str
    """The line of the converted network: `net_ms/network.py:31: relu = aten_relu(add)`."""

    def fields(self) -> dict[str, Any]:
        """Return the difference as fields for JSON."""
        return {**asdict(self), "amount": _finite(self.amount)}

    def __str__(self) -> str:
        where = f" in {self.module}" if self.module else ""
        return f"{self.operator}{where}: its {self.what} is {self.amount:.1e} off\n  {self.line}\n  {self.source}"


def _finite(amount: float) -> float | None:
    """Return the amount, or None if one side has a number and the other has none: JSON has no infinity."""
    return amount if isfinite(amount) else None
