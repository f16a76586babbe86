"""A converted network of MindSpore's, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import mindspore as ms
import numpy as np

from opbridge.conversion.cells import cell_below
from opbridge.conversion.sides import Array, listed


class MindSporeSide:
    def __init__(self, loaded: Any, inputs: Sequence[Array]) -> None:
        self._cell = loaded
        self._cell.set_train(False)
        self._inputs = [_tensor(each) for each in inputs]
        self._parameters = {value.name: value for value in loaded.get_parameters()}

    def train(self) -> None:
        self._cell.set_train(True)

    def results(self) -> list[Array]:
        return [self.array(each) for each in listed(self._cell(*self._inputs))]

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        weights = ms.Tensor(factors)

        def total(*tensors: Any) -> Any:
            return (listed(self._cell(*tensors))[index] * weights).sum()

        parameters = ms.ParameterTuple([self._parameters[name] for name in names])
        _, found = ms.value_and_grad(total, None, parameters)(*self._inputs)
        return {name: self.array(gradient) for name, gradient in zip(names, found, strict=True)}

    def value(self, name: str) -> Array:
        return self.array(self._parameters[name])

    def set(self, name: str, value: Array) -> None:
        self._parameters[name].set_data(ms.Tensor(value).astype(self._parameters[name].dtype))

    def run(self) -> None:
        self._cell(*self._inputs)

    def path(self, variables: Mapping[str, Any], paths: Iterable[str]) -> str | None:
        return next((path for path in paths if cell_below(self._cell, path) is variables.get("self")), None)

    def array(self, value: Any) -> Array:
        widened = value.astype(ms.float32) if value.dtype == ms.bfloat16 else value
        return np.asarray(widened.asnumpy())

    def pulled_back(
        self, function: Callable[..., Any], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        weights = ms.Tensor(factors)

        def total(*values: Any) -> Any:
            return (listed(function(*values))[index] * weights).sum()

        found = ms.grad(total, tuple(range(len(given))))(*map(ms.Tensor, given))
        return [self.array(each) for each in (found if isinstance(found, tuple) else (found,))]


def _tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return ms.Tensor(array.astype(np.float32)).astype(ms.bfloat16)
    return ms.Tensor(np.ascontiguousarray(array))
