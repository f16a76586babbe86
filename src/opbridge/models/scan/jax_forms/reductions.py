"""Reductions: sums, extremes, norms, and sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from opbridge.models.scan.jax_forms.type_promotion import Array, alike, canonical, floating, summed

Dims: TypeAlias = int | Sequence[int] | None
"""One dimension or several; None or an empty sequence for all."""


def _axes(dim: Dims) -> Any:
    if isinstance(dim, (tuple, list)):
        return tuple(dim) or None
    return dim


def sum(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Array:
    """Sum elements; whole numbers become int64."""
    return jnp.sum(summed(self, dtype), _axes(dim), keepdims=keepdim)


def mean(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Array:
    """Average elements, cast to `dtype` first."""
    return jnp.mean(self if dtype is None else self.astype(dtype), _axes(dim), keepdims=keepdim)


def prod(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Array:
    """Multiply elements; whole numbers become int64."""
    return jnp.prod(summed(self, dtype), _axes(dim), keepdims=keepdim)


def amax(self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """Return the largest elements."""
    return jnp.max(self, _axes(dim), keepdims=keepdim)


def amin(self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """Return the smallest elements."""
    return jnp.min(self, _axes(dim), keepdims=keepdim)


def max(self: Array, dim: Any = None, keepdim: bool = False, other: ArrayLike | None = None) -> Any:
    """Return the largest element, or with `dim` also its place; then only that place has the gradient."""
    if other is not None:
        return jnp.maximum(*alike(self, other))
    return jnp.max(self) if dim is None else _with_places(self, argmax(self, dim, True), dim, keepdim)


def min(self: Array, dim: Any = None, keepdim: bool = False, other: ArrayLike | None = None) -> Any:
    """Return the smallest element, or with `dim` also its place; then only that place has the gradient."""
    if other is not None:
        return jnp.minimum(*alike(self, other))
    return jnp.min(self) if dim is None else _with_places(self, argmin(self, dim, True), dim, keepdim)


def _with_places(tensor: Array, places: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    found = jnp.take_along_axis(tensor, places, dim), places
    return found if keepdim else (jnp.squeeze(found[0], dim), jnp.squeeze(found[1], dim))


def argmax(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the int64 place of the largest element."""
    return jnp.argmax(self, dim, keepdims=keepdim).astype(canonical("int64"))


def argmin(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Return the int64 place of the smallest element."""
    return jnp.argmin(self, dim, keepdims=keepdim).astype(canonical("int64"))


def any(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Return whether any element is true."""
    return jnp.any(self, _axes(dim), keepdims=keepdim)


def all(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    """Return whether all elements are true."""
    return jnp.all(self, _axes(dim), keepdims=keepdim)


def var(
    self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: int | None = None
) -> Array:
    """Return the variance; `correction`, if present, replaces `unbiased`."""
    less = int(unbiased) if correction is None else correction
    return jnp.var(self, _axes(dim), ddof=less, keepdims=keepdim)


def std(
    self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: int | None = None
) -> Array:
    """Return the standard deviation, as the root of `var`."""
    return jnp.sqrt(var(self, dim, unbiased, keepdim, correction))


def var_mean(
    self: Array, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, correction: int | None = None
) -> tuple[Array, Array]:
    """Return the variance and the mean."""
    return var(self, dim, unbiased, keepdim, correction), mean(self, dim, keepdim)


def logsumexp(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials, without overflow."""
    return jax.nn.logsumexp(floating(self), _axes(dim), keepdims=keepdim)


def linalg_vector_norm(
    self: Array, ord: float = 2, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None
) -> Array:
    """Compute a vector norm; the derivative of the norm of order 2 is 0 at 0."""
    value, axes = self if dtype is None else self.astype(dtype), _axes(dim)
    if ord == 2:
        return _root(jnp.sum(jnp.square(jnp.abs(value)), axes, keepdims=keepdim))
    if ord == 1:
        return jnp.sum(jnp.abs(value), axes, keepdims=keepdim)
    if not ord:
        return jnp.sum((value != 0).astype(value.dtype), axes, keepdims=keepdim)
    if ord in (float("inf"), -float("inf")):
        return (jnp.max if ord > 0 else jnp.min)(jnp.abs(value), axes, keepdims=keepdim)
    return jnp.sum(jnp.abs(value) ** ord, axes, keepdims=keepdim) ** (1 / ord)


def norm(self: Array, p: float = 2, dim: Dims = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Array:
    """Compute a vector norm, of order 2 if `p` is None."""
    return linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype)


def _root(squares: Array) -> Array:
    """Return square roots, with the derivative 0 at 0."""
    is_zero = squares == 0
    return jnp.where(is_zero, jnp.zeros_like(squares), jnp.sqrt(jnp.where(is_zero, jnp.ones_like(squares), squares)))


def cumsum(self: Array, dim: int, dtype: DTypeLike | None = None) -> Array:
    """Return cumulative sums; whole numbers become int64."""
    return jnp.cumsum(summed(self, dtype), dim)


def cumprod(self: Array, dim: int, dtype: DTypeLike | None = None) -> Array:
    """Return cumulative products; whole numbers become int64."""
    return jnp.cumprod(summed(self, dtype), dim)


def sort(self: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Array, Array]:
    """Sort along a dimension; return values and places. The sort is always stable."""
    places = argsort(self, dim, descending)
    return jnp.take_along_axis(self, places, dim), places


def argsort(self: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """Return the int64 places of a stable sort."""
    return jnp.argsort(self, dim, stable=True, descending=descending).astype(canonical("int64"))


def topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Sequence[Array]:
    """Return the top values and their places, always sorted."""
    if not self.ndim:
        return self, jnp.zeros((), canonical("int64"))
    places = jnp.take(argsort(self, dim, largest), jnp.arange(k), dim)
    return jnp.take_along_axis(self, places, dim), places
