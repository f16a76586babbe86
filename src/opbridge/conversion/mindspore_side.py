"""A converted network of MindSpore's, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindspore as ms
import numpy as np

from opbridge.conversion.sides import Array, listed


class MindSporeSide:
    def __init__(self, loaded: Any, inputs: Sequence[Array]) -> None:
        self._cell = loaded
        self._cell.set_train(False)
        self._inputs = [ms.Tensor(np.ascontiguousarray(each)) for each in inputs]
        self._parameters = {value.name: value for value in loaded.trainable_params()}

    def results(self) -> list[Array]:
        return [each.asnumpy() for each in listed(self._cell(*self._inputs))]

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        weights = ms.Tensor(factors)

        def total(*tensors: Any) -> Any:
            return (listed(self._cell(*tensors))[index] * weights).sum()

        parameters = ms.ParameterTuple([self._parameters[name] for name in names])
        _, found = ms.value_and_grad(total, None, parameters)(*self._inputs)
        return {name: gradient.asnumpy() for name, gradient in zip(names, found, strict=True)}

    def value(self, name: str) -> Array:
        return np.asarray(self._parameters[name].asnumpy())

    def set(self, name: str, value: Array) -> None:
        self._parameters[name].set_data(ms.Tensor(value))
