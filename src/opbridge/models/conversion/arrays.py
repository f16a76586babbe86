"""Functions that the source of a converted network calls in JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from opbridge.models.conversion import weights as files
from opbridge.models.conversion.drawing import Keys, dropout

Arrays = Any
"""The arrays that a part of a network carries: one, or a tuple of them."""


def load(path: str | Path, tied: Mapping[str, str]) -> dict[str, jax.Array]:
    """Read a safetensors file or a PyTorch file into JAX arrays, without the names in `tied`.

    `tied` maps a name to the name whose value it shares.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        state: Mapping[str, jax.Array] = files.load(path)
    else:
        import torch

        state = {name: value.numpy() for name, value in torch.load(path, weights_only=True).items()}
    return {name: jnp.asarray(value) for name, value in state.items() if name not in tied}


class Values:
    """The values of one call. An assigned value is read from then on, by every name tied to it."""

    def __init__(self, values: Mapping[str, jax.Array], tied: Mapping[str, str]) -> None:
        self._values, self._tied = values, tied
        self.assigned: dict[str, jax.Array] = {}

    def __getitem__(self, name: str) -> jax.Array:
        name = self._tied.get(name, name)
        return self.assigned[name] if name in self.assigned else self._values[name]

    def __setitem__(self, name: str, value: jax.Array) -> None:
        self.assigned[self._tied.get(name, name)] = value


def branch(condition: jax.Array, yes: Callable[..., Arrays], no: Callable[..., Arrays], operands: Arrays) -> Arrays:
    """Implement the PyTorch `cond` operator."""
    return jax.lax.cond(condition, yes, no, *operands)


def repeat(condition: Callable[..., Arrays], body: Callable[..., Arrays], carried: Arrays, more: Arrays) -> Arrays:
    """Implement the PyTorch `while_loop` operator."""
    return jax.lax.while_loop(lambda given: condition(*given, *more), lambda given: body(*given, *more), carried)


def each(body: Callable[..., Arrays], rows: Arrays, more: Arrays) -> Arrays:
    """Implement the PyTorch `map` operator, over the first axis."""
    return jax.lax.map(lambda given: body(*given, *more), rows)


def accumulate(body: Callable[..., Arrays], carried: Arrays, rows: Arrays, more: Arrays) -> Arrays:
    """Implement the PyTorch `scan` operator, over the first axis."""
    count = len(carried)

    def step(before: Arrays, given: Arrays) -> tuple[Arrays, Arrays]:
        results = body(*before, *given, *more)
        return results[:count], results[count:]

    after, stacked = jax.lax.scan(step, carried, rows)
    return (*after, *stacked)


def attention(
    keys: Keys,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    attn_mask: jax.Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> jax.Array:
    """Compute scaled_dot_product_attention with keys: the PyTorch operator would need its own generator."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = jnp.repeat(key, groups, axis=-3), jnp.repeat(value, groups, axis=-3)
    scores = query @ jnp.swapaxes(key, -1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if attn_mask is not None:
        scores = jnp.where(attn_mask, scores, -jnp.inf) if attn_mask.dtype == bool else scores + attn_mask
    weights = jax.nn.softmax(scores, axis=-1, where=scores != -jnp.inf)
    return (dropout(keys, weights, dropout_p) if dropout_p else weights) @ value
