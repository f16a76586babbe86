"""Tensors of given sizes, or of the sizes of others."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from opbridge.models.scan.jax_forms.type_promotion import Array, canonical


def full(size: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return a filled array; without `dtype`, its type follows the fill value as in PyTorch."""
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else "float32"
    return jnp.full(tuple(size), fill_value, canonical(dtype))


def zeros(size: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return zeros, float32 by default."""
    return full(size, 0, dtype or "float32")


def ones(size: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return ones, float32 by default."""
    return full(size, 1, dtype or "float32")


def full_like(self: Array, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return a filled array in the shape of another, and in its type by default."""
    return full(self.shape, fill_value, dtype or self.dtype)


def zeros_like(self: Array, dtype: DTypeLike | None = None) -> Array:
    """Return zeros in the shape of another array."""
    return full_like(self, 0, dtype)


def ones_like(self: Array, dtype: DTypeLike | None = None) -> Array:
    """Return ones in the shape of another array."""
    return full_like(self, 1, dtype)


def new_full(self: Array, size: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return a filled array, in the type of `self` by default."""
    return full(size, fill_value, dtype or self.dtype)


def new_zeros(self: Array, size: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return zeros, in the type of `self` by default."""
    return new_full(self, size, 0, dtype)


def new_ones(self: Array, size: Sequence[int], dtype: DTypeLike | None = None) -> Array:
    """Return ones, in the type of `self` by default."""
    return new_full(self, size, 1, dtype)


empty_like, new_empty = zeros_like, new_zeros
"""Uninitialized memory may hold anything, so zeros are correct."""


def fill(self: Array, value: ArrayLike) -> Array:
    """Return an array in the shape and type of `self`, filled with a value."""
    return jnp.broadcast_to(jnp.asarray(value, self.dtype), self.shape)


def scalar_tensor(s: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """Return an array without dimensions, float32 by default."""
    return full((), s, dtype or "float32")


def arange(
    start: ArrayLike, end: ArrayLike | None = None, step: ArrayLike = 1, dtype: DTypeLike | None = None
) -> Array:
    """Return a range; a single bound is its end, although it is passed as `start`."""
    start, end = (0, start) if end is None else (start, end)
    are_whole = all(isinstance(each, int) for each in (start, end, step))
    return jnp.arange(start, end, step, canonical(dtype or ("int64" if are_whole else "float32")))
