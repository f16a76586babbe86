"""Indexing, gathering and scattering."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from opbridge.models.scan.jax_forms.type_promotion import Array

_ALL = builtins.slice(None)


def select(self: Array, dim: int, index: int) -> Array:
    """Take one index along a dimension."""
    return jnp.take(self, index % self.shape[dim], dim)


def slice(self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    """Slice one dimension."""
    return self[(_ALL,) * (dim % self.ndim) + (builtins.slice(start, end, step),)]


def narrow(self: Array, dim: int, start: int, length: int) -> Array:
    """Take `length` places along a dimension; a negative `start` counts from its end."""
    first = start % (self.shape[dim] + 1) if start >= 0 else start + self.shape[dim]
    return slice(self, dim, first, first + length)


def index(self: Array, indices: Sequence[Array | None]) -> Array:
    """Index with tensors, of which None keeps a dimension."""
    return self[_places(indices)]


def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    """Set the values at tensor indices, or add them with `accumulate`."""
    at = self.at[_places(indices)]
    return at.add(values) if accumulate else at.set(values)


def _places(indices: Sequence[Array | None]) -> tuple[object, ...]:
    return tuple(_ALL if each is None else each for each in indices)


def index_select(self: Array, dim: int, index: Array) -> Array:
    """Take the indexed places along a dimension."""
    return jnp.take(self, index.reshape(-1), dim) if self.ndim else self


def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """Look up rows; the row `padding_idx` has no gradient."""
    if scale_grad_by_freq:
        raise ValueError("the gradient is not scaled by frequency here")
    if padding_idx != -1:
        weight = weight.at[padding_idx].set(jax.lax.stop_gradient(weight[padding_idx]))
    return jnp.take(weight, indices, 0)


def slice_scatter(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """Set a slice along a dimension."""
    return self.at[(_ALL,) * (dim % self.ndim) + (builtins.slice(start, end, step),)].set(src)


def select_scatter(self: Array, src: Array, dim: int, index: int) -> Array:
    """Set one index along a dimension."""
    return self.at[(_ALL,) * (dim % self.ndim) + (index,)].set(src)


def gather(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """Gather elements by an index along a dimension."""
    return self[_along(self, dim, index)] if self.ndim else jnp.broadcast_to(self, index.shape)


def scatter(
    self: Array, dim: int, index: Array, src: ArrayLike | None = None, *, value: ArrayLike | None = None
) -> Array:
    """Set the elements at an index along a dimension, to a tensor or to one number."""
    return self.at[_along(self, dim, index)].set(_fitting(value if src is None else src, index))


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    """Add to the elements at an index along a dimension."""
    return self.at[_along(self, dim, index)].add(_fitting(src, index))


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: ArrayLike = 1) -> Array:
    """Add rows along `dim`, moved to the front.

    After another dimension, XLA's compiled gradient of the source is wrong (jaxlib 0.6).
    """
    rows, more = jnp.moveaxis(self, dim, 0), jnp.moveaxis(source, dim, 0)
    return jnp.moveaxis(rows.at[index].add(more * jnp.asarray(alpha, source.dtype)), 0, dim)


def _fitting(source: ArrayLike, index: Array) -> ArrayLike:
    """Return the part of the source that the index covers."""
    return source[tuple(builtins.slice(size) for size in index.shape)] if hasattr(source, "shape") else source


def _along(tensor: Array, dim: int, index: Array) -> tuple[Array, ...]:
    """Return the places of an index along one dimension; they stay the same in the others."""
    places = list(jnp.meshgrid(*map(jnp.arange, index.shape), indexing="ij"))
    places[dim % tensor.ndim] = index
    return tuple(places)
