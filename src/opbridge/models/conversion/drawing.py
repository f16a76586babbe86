"""PyTorch's random operators in JAX, drawn from a key."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from opbridge.base.errors import CallError


class Keys:
    """A key for each draw, in the order of the source. Each call of the network has its own `Keys`."""

    def __init__(self, key: jax.Array | None) -> None:
        self._key = key

    def __call__(self) -> jax.Array:
        """Return a new key; raise CallError if the call of the network has none."""
        if self._key is None:
            raise CallError(
                "the network draws random numbers, which take a key: expected apply(..., key=jax.random.key(0))"
            )
        self._key, own = jax.random.split(self._key)
        return own


def dropout(keys: Keys, input: jax.Array, p: float, train: bool = True) -> jax.Array:
    """Zero elements with probability `p`, and scale the others by 1 / (1 - p)."""
    return _masked(keys, input, p, input.shape)


def feature_dropout(keys: Keys, input: jax.Array, p: float, train: bool = True) -> jax.Array:
    """Zero whole channels with probability `p`, and scale the others by 1 / (1 - p)."""
    return _masked(keys, input, p, (*input.shape[:2], *(1 for _ in input.shape[2:])))


def _masked(keys: Keys, input: jax.Array, p: float, shape: tuple[int, ...]) -> jax.Array:
    if p == 1:
        return jnp.zeros_like(input)
    kept = jax.random.bernoulli(keys(), 1 - p, shape)
    return jnp.where(kept, input / (1 - p), jnp.zeros_like(input))


def bernoulli(keys: Keys, self: jax.Array, p: ArrayLike | None = None, **more: object) -> jax.Array:
    """Draw zeros and ones with the probabilities `p`, or with those in `self`."""
    return jax.random.bernoulli(keys(), self if p is None else p, self.shape).astype(self.dtype)


def rand(keys: Keys, size: Sequence[int], dtype: DTypeLike | None = None, **more: object) -> jax.Array:
    """Draw uniform numbers from [0, 1)."""
    return jax.random.uniform(keys(), size, dtype or "float32")


def randn(keys: Keys, size: Sequence[int], dtype: DTypeLike | None = None, **more: object) -> jax.Array:
    """Draw numbers from the standard normal distribution."""
    return jax.random.normal(keys(), size, dtype or "float32")


def rand_like(keys: Keys, self: jax.Array, dtype: DTypeLike | None = None, **more: object) -> jax.Array:
    """Draw uniform numbers from [0, 1), in the shape of a tensor."""
    return jax.random.uniform(keys(), self.shape, dtype or self.dtype)


def randn_like(keys: Keys, self: jax.Array, dtype: DTypeLike | None = None, **more: object) -> jax.Array:
    """Draw numbers from the standard normal distribution, in the shape of a tensor."""
    return jax.random.normal(keys(), self.shape, dtype or self.dtype)
