"""The converted network as a check sees it, in either framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Side(Protocol):
    """The converted network; it begins in inference."""

    def train(self) -> None:
        """Switch to training: results then move the buffers."""

    def results(self) -> list[Array]:
        """Return the results of the network as arrays."""

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        """Return the gradients of the sum of a result times factors, by parameter name."""

    def value(self, name: str) -> Array:
        """Return a parameter or buffer."""

    def set(self, name: str, value: Array) -> None:
        """Set a parameter or buffer."""

    def run(self) -> None:
        """Run the network line by line, as Python does."""

    def path(self, variables: Mapping[str, object], paths: Iterable[str]) -> str | None:
        """Return the path of the module whose source has such variables; None if there is none."""

    def array(self, value: object) -> Array:
        """Return one of the framework's tensors as an array."""

    def pulled_back(
        self, function: Callable[..., object], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        """Return the gradients, by each given array, of the sum of a result times factors."""


def listed(result: object) -> list[Any]:
    """Return the results of a network as a list, also if there is only one."""
    return list(result) if isinstance(result, (tuple, list)) else [result]
