"""Checks in JAX, with 64-bit types enabled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opbridge.frameworks.jax.compiling import compiled
from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver, NotHere, Span, listed, packed
from opbridge.waist.op import Op
from opbridge.waist.schema import Schema


def make(device: str) -> Driver:
    """Enable 64-bit types and return the driver."""
    jax.config.update("jax_enable_x64", True)
    return JaxDriver()


class JaxDriver(Driver):
    """JAX, which returns new values instead of writing in place and has no memory layouts."""

    name = "jax"
    has_layouts = False
    writes_in_place = False

    def tensor(self, array: Array) -> jax.Array:
        """Return a new JAX array with these values."""
        return jnp.array(np.asarray(array.values).astype(self.dtype(array.dtype)))

    def array(self, tensor: jax.Array) -> Array:
        """Return an array's values."""
        name = str(tensor.dtype)
        plain = np.asarray(tensor)
        return Array.of(plain.astype(np.float64) if name == "bfloat16" else plain, name)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return JAX's element type of this name."""
        try:
            return jnp.dtype(name)
        except TypeError:
            raise NotHere from None

    def gradients(
        self, op: Op, schema: Schema, values: Mapping[str, object], names: Sequence[str], weights: Sequence[object]
    ) -> list[jax.Array]:
        """Return the gradients of the weighted sum of the outputs, computed with jax.grad."""

        def total(tensors: list[jax.Array]) -> jax.Array:
            outputs = self.call(op, schema, {**values, **dict(zip(names, tensors, strict=True))})
            pairs = zip(outputs, weights, strict=True)
            return sum((output * weight).sum() for output, weight in pairs if weight is not None)

        return list(jax.grad(total)([values[name] for name in names]))

    def batch(self, op: Op, schema: Schema, values: Mapping[str, object], batched: Sequence[str]) -> list[object]:
        """Call the operator on a batch with jax.vmap."""

        def function(*tensors: jax.Array) -> tuple[jax.Array, ...]:
            args, kwargs = packed(schema, {**values, **dict(zip(batched, tensors, strict=True))})
            return tuple(listed(op(*args, **kwargs)))

        return list(jax.vmap(function)(*(values[name] for name in batched)))

    def prepared(
        self, function: Callable[..., object], args: list[object], kwargs: dict[str, object]
    ) -> tuple[Callable[..., object], list[object], dict[str, object]]:
        """Return the call compiled with jax.jit, and its arrays."""
        run, arrays = compiled(function, args, kwargs)
        return run, arrays, {}

    def finish(self, outputs: Sequence[object]) -> None:
        """Wait until the outputs are ready."""
        jax.block_until_ready(outputs)

    def span(self, tensor: jax.Array) -> Span | None:
        """Return the addresses of the array's buffer."""
        start = tensor.unsafe_buffer_pointer()
        return (start, start + tensor.nbytes)
