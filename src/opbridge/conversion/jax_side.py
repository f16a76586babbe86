"""A converted network for JAX, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opbridge.conversion.sides import Array, listed


class JaxSide:
    def __init__(self, loaded: Any, inputs: Sequence[Array]) -> None:
        self._apply, self._values = loaded
        self._inputs = inputs
        self._call = jax.jit(self._apply)

    def results(self) -> list[Array]:
        return [np.asarray(each) for each in listed(self._call(self._values, *self._inputs))]

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        def total(trained: dict[str, Any]) -> Any:
            return (listed(self._apply(self._values | trained, *self._inputs))[index] * factors).sum()

        found = jax.jit(jax.grad(total))({name: self._values[name] for name in names})
        return {name: np.asarray(gradient) for name, gradient in found.items()}

    def value(self, name: str) -> Array:
        return np.asarray(self._values[name])

    def set(self, name: str, value: Array) -> None:
        self._values[name] = jnp.asarray(value)
