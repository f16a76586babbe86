"""The same elements in other places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from opbridge.scan.jax_forms.promoting import Array, canonical

clone, t = jnp.array, jnp.transpose
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def to(self: Array, dtype: Any = None, copy: bool = False, other: Any = None) -> Array:
    if other is not None:
        dtype = other.dtype
    return self if dtype is None else self.astype(canonical(dtype))


def _to_copy(self: Array, dtype: Any = None) -> Array:
    return to(self, dtype)


def type_as(self: Array, other: Array) -> Array:
    return self.astype(other.dtype)


def reshape(self: Array, shape: Sequence[int]) -> Array:
    return self.reshape(shape)


def view(self: Array, size: Sequence[int]) -> Array:
    return self.reshape(size)


_unsafe_view = view


def view_as(self: Array, other: Array) -> Array:
    return self.reshape(other.shape)


reshape_as = view_as


def flatten(self: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    if not self.ndim:
        return self.reshape(1)
    first, last = start_dim % self.ndim, end_dim % self.ndim
    whole = math.prod(self.shape[first : last + 1])
    return self.reshape((*self.shape[:first], whole, *self.shape[last + 1 :]))


def unflatten(self: Array, dim: int, sizes: Sequence[int]) -> Array:
    dim %= self.ndim
    return self.reshape((*self.shape[:dim], *sizes, *self.shape[dim + 1 :]))


def expand(self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    own = (1,) * (len(size) - self.ndim) + self.shape
    return jnp.broadcast_to(self, [have if want == -1 else want for want, have in zip(size, own, strict=True)])


def expand_as(self: Array, other: Array) -> Array:
    return jnp.broadcast_to(self, other.shape)


def broadcast_tensors(tensors: Sequence[Array]) -> list[Array]:
    return jnp.broadcast_arrays(*tensors)


def unsqueeze(self: Array, dim: int) -> Array:
    return jnp.expand_dims(self, dim)


def squeeze(self: Array, dim: Any = None) -> Array:
    """Dimensions that are not of size one stay."""
    dims = range(self.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return jnp.squeeze(self, tuple(each for each in dims if self.ndim and self.shape[each] == 1))


def transpose(self: Array, dim0: int, dim1: int) -> Array:
    return jnp.swapaxes(self, dim0, dim1) if self.ndim else self


def swapaxes(self: Array, axis0: int, axis1: int) -> Array:
    return transpose(self, axis0, axis1)


def permute(self: Array, dims: Sequence[int]) -> Array:
    return jnp.transpose(self, dims)


def movedim(self: Array, source: Any, destination: Any) -> Array:
    return jnp.moveaxis(self, source, destination)


def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """A tensor of one dimension without elements fits beside any other."""
    sized = [each for each in tensors if each.shape != (0,)] or tensors[:1]
    return jnp.concatenate(sized, dim)


concat = concatenate = cat


def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    return jnp.stack(tensors, dim)


def split(self: Array, split_size: Any, dim: int = 0) -> list[Array]:
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(self, split_size, dim)
    return jnp.split(self, [*range(split_size, self.shape[dim], split_size)], dim)


def split_with_sizes(self: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    ends = [sum(split_sizes[: place + 1]) for place in range(len(split_sizes))]
    return jnp.split(self, ends[:-1], dim)


def chunk(self: Array, chunks: int, dim: int = 0) -> list[Array]:
    return split(self, max(1, -(-self.shape[dim] // chunks)), dim)


def unbind(self: Array, dim: int = 0) -> list[Array]:
    return [jnp.take(self, place, dim) for place in range(self.shape[dim])]


def repeat(self: Array, repeats: Sequence[int]) -> Array:
    return jnp.tile(self, repeats)


def repeat_interleave(self: Array, repeats: int, dim: int | None = None, output_size: Any = None) -> Array:
    return jnp.repeat(self, repeats, dim)


def flip(self: Array, dims: Sequence[int]) -> Array:
    return jnp.flip(self, dims)


def roll(self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    return jnp.roll(self, shifts if dims else shifts[0], dims or None)


def tril(self: Array, diagonal: int = 0) -> Array:
    return jnp.tril(self, diagonal)


def triu(self: Array, diagonal: int = 0) -> Array:
    return jnp.triu(self, diagonal)


def meshgrid(tensors: Sequence[Array], indexing: str = "ij") -> list[Array]:
    return jnp.meshgrid(*tensors, indexing=indexing)


def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return jnp.diagonal(self, offset, dim1, dim2)


def constant_pad_nd(self: Array, pad: Sequence[int], value: Any = 0) -> Array:
    return _pad(self, pad, "constant", value)


def pad(self: Array, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Array:
    return _pad(self, pad, mode, value or 0)


def _pad(tensor: Array, sides: Sequence[int], mode: str, value: Any) -> Array:
    """`sides` begin with the last dimension; what is below 0 is cut off."""
    widths = [(0, 0)] * tensor.ndim
    for place in range(len(sides) // 2):
        widths[-1 - place] = (sides[2 * place], sides[2 * place + 1])
    cut = tuple(slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(widths, tensor.shape, strict=True))
    more = {"constant_values": value} if mode == "constant" else {}
    return jnp.pad(tensor[cut], [(max(0, a), max(0, b)) for a, b in widths], _MODES[mode], **more)


def pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    *batch, channels, height, width = self.shape
    factor, new = upscale_factor, channels // upscale_factor**2
    parts = self.reshape((*batch, new, factor, factor, height, width))
    last = len(batch)
    order = [*range(last), last, last + 3, last + 1, last + 4, last + 2]
    return parts.transpose(order).reshape((*batch, new, height * factor, width * factor))


def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    dimension %= self.ndim
    starts = jnp.arange(0, self.shape[dimension] - size + 1, step)
    windows = jnp.take(self, starts[:, None] + jnp.arange(size), dimension)
    return jnp.moveaxis(windows, dimension + 1, -1)


def diff(self: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    return jnp.diff(self, n, dim, prepend, append)
