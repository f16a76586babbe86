"""A converted JAX network, as a check runs and trains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opbridge.models.conversion.frameworks_under_test import Array, listed


class JaxSide:
    """The converted JAX network under check: a function and its values."""

    def __init__(self, loaded: Any, inputs: Sequence[Array]) -> None:
        self._network, self._values = loaded
        self._inputs = inputs
        self._trains = False

    def train(self) -> None:
        """Switch to training: results then move the buffers."""
        self._trains = True

    def results(self) -> list[Array]:
        """Return the results, and keep the values that were assigned to buffers."""
        found, assigned = jax.jit(self._call)(self._values)
        self._values = self._values | assigned
        return [np.asarray(each) for each in listed(found)]

    def _call(self, values: dict[str, object]) -> tuple[object, dict[str, jax.Array]]:
        """Return the results, and the values that were assigned to buffers."""
        found = self._network(values, *self._inputs, train=self._trains)
        return found if self._trains else (found, {})

    def gradients(self, index: int, factors: Array, names: Sequence[str]) -> dict[str, Array]:
        """Return the gradients of the sum of a result times factors, by parameter name."""

        def total(trained: dict[str, object]) -> jax.Array:
            return (listed(self._call(self._values | trained)[0])[index] * factors).sum()

        found = jax.jit(jax.grad(total))({name: self._values[name] for name in names})
        return {name: np.asarray(gradient) for name, gradient in found.items()}

    def value(self, name: str) -> Array:
        """Return a parameter or buffer as a NumPy array."""
        return np.asarray(self._values[name])

    def set(self, name: str, value: Array) -> None:
        """Set a parameter or buffer, cast to its dtype."""
        self._values[name] = jnp.asarray(value).astype(self._values[name].dtype)

    def run(self) -> None:
        """Run the network line by line, without jit."""
        self._call(self._values)

    def path(self, variables: Mapping[str, Any], paths: Iterable[str]) -> str | None:
        """Return the path of the module whose local variables these are, from their `at`."""
        starts = {f"{path}.".replace("@", "__").lstrip("."): path for path in paths}
        return starts.get(variables.get("at", "."))

    def array(self, value: object) -> Array:
        """Return a JAX array as a NumPy array."""
        return np.asarray(value)

    def pulled_back(
        self, function: Callable[..., object], given: Sequence[Array], index: int, factors: Array
    ) -> list[Array]:
        """Return the gradients, by each given array, of the sum of a result times factors."""

        def total(*values: object) -> jax.Array:
            return (listed(function(*values))[index] * factors).sum()

        found = jax.grad(total, tuple(range(len(given))))(*map(jnp.asarray, given))
        return [np.asarray(gradient) for gradient in found]
