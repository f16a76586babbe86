"""A converted MindSpore network, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import mindspore as ms
import numpy as np

from opbridge.models.conversion.cells import cell_below
from opbridge.models.conversion.frameworks_under_test import Array, listed


class MindSporeSide:
    """The converted MindSpore network under check: a Cell."""

    def __init__(self, loaded: ms.nn.Cell, inputs: Sequence[Array]) -> None:
        self._cell = loaded
        self._cell.set_train(False)
        self._inputs = [_tensor(each) for each in inputs]
        self._parameters = {value.name: value for value in loaded.get_parameters()}

    def train(self) -> None:
        """Switch to training: results then move the buffers."""
        self._cell.set_train(True)

    def results(self) -> list[Array]:
        """Return the results as NumPy arrays."""
        return [self.array(each) for each in listed(self._cell(*self._inputs))]

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        """Return the gradients of the sum of a result times factors, by parameter name."""
        weights = ms.Tensor(factors)

        def total(*tensors: ms.Tensor) -> ms.Tensor:
            return (listed(self._cell(*tensors))[index] * weights).sum()

        parameters = ms.ParameterTuple([self._parameters[name] for name in names])
        _, found = ms.value_and_grad(total, None, parameters)(*self._inputs)
        return {name: self.array(gradient) for name, gradient in zip(names, found, strict=True)}

    def value(self, name: str) -> Array:
        """Return a parameter or buffer as a NumPy array."""
        return self.array(self._parameters[name])

    def set(self, name: str, value: Array) -> None:
        """Set a parameter or buffer, cast to its dtype."""
        self._parameters[name].set_data(ms.Tensor(value).astype(self._parameters[name].dtype))

    def run(self) -> None:
        """Run the network once, for the tracer to follow its lines."""
        self._cell(*self._inputs)

    def path(self, variables: Mapping[str, object], paths: Iterable[str]) -> str | None:
        """Return the path of the module whose local variables these are, from their `self`."""
        return next((path for path in paths if cell_below(self._cell, path) is variables.get("self")), None)

    def array(self, value: ms.Tensor) -> Array:
        """Return a tensor as a NumPy array; bfloat16 is widened to float32."""
        widened = value.astype(ms.float32) if value.dtype == ms.bfloat16 else value
        return np.asarray(widened.asnumpy())

    def pulled_back(
        self, function: Callable[..., object], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        """Return the gradients, by each given array, of the sum of a result times factors."""
        weights = ms.Tensor(factors)

        def total(*values: object) -> ms.Tensor:
            return (listed(function(*values))[index] * weights).sum()

        found = ms.grad(total, tuple(range(len(given))))(*map(ms.Tensor, given))
        return [self.array(each) for each in (found if isinstance(found, tuple) else (found,))]


def _tensor(array: Array) -> object:
    if array.dtype.name == "bfloat16":
        return ms.Tensor(array.astype(np.float32)).astype(ms.bfloat16)
    return ms.Tensor(np.ascontiguousarray(array))
