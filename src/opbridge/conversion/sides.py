"""The converted network as a check sees it, in either framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Side(Protocol):
    """The converted network, in inference at first."""

    def train(self) -> None:
        """From here on it is in training: results move its buffers."""

    def results(self) -> list[Array]: ...

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        """Of the sum of a result times factors, by the names of parameters."""

    def value(self, name: str) -> Array: ...

    def set(self, name: str, value: Array) -> None: ...

    def run(self) -> None:
        """Line by line, as Python does."""

    def path(self, variables: Mapping[str, Any], paths: Iterable[str]) -> str | None:
        """Of the module whose source has such variables."""

    def array(self, value: Any) -> Array:
        """Of one of the framework's tensors."""

    def pulled_back(
        self, function: Callable[..., Any], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        """The gradients, by what is given, of the sum of a result times factors."""


def listed(result: Any) -> list[Any]:
    """What a network returns, as several also where it is one."""
    return list(result) if isinstance(result, (tuple, list)) else [result]
