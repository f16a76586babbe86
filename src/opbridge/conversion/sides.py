"""What a check asks of a converted network, whatever framework it is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Side(Protocol):
    """The converted network, in inference."""

    def results(self) -> list[Array]: ...

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        """Of the sum of a result times factors, by the names of parameters."""

    def value(self, name: str) -> Array: ...

    def set(self, name: str, value: Array) -> None: ...


def listed(result: Any) -> list[Any]:
    """What a network returns, as several also where it is one."""
    return list(result) if isinstance(result, tuple) else [result]
