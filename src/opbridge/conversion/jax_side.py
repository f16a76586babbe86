"""A converted network for JAX, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
        self._values[name] = jnp.asarray(value).astype(self._values[name].dtype)

    def run(self) -> None:
        self._apply(self._values, *self._inputs)

    def path(self, variables: Mapping[str, Any], paths: Iterable[str]) -> str | None:
        starts = {f"{path}.".replace("@", "__").lstrip("."): path for path in paths}
        return starts.get(variables.get("at", "."))

    def array(self, value: Any) -> Array:
        return np.asarray(value)

    def pulled_back(
        self, function: Callable[..., Any], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        def total(*values: Any) -> Any:
            return (listed(function(*values))[index] * factors).sum()

        found = jax.grad(total, tuple(range(len(given))))(*map(jnp.asarray, given))
        return [np.asarray(gradient) for gradient in found]
