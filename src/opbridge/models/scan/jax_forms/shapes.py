"""Functions that keep the elements and change their places or types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from opbridge.models.scan.jax_forms.type_promotion import Array, canonical

clone, t = jnp.array, jnp.transpose
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def to(self: Array, dtype: DTypeLike | None = None, copy: bool = False, other: ArrayLike | None = None) -> Array:
    """Cast to `dtype`, or to the type of `other`."""
    if other is not None:
        dtype = other.dtype
    return self if dtype is None else self.astype(canonical(dtype))


def _to_copy(self: Array, dtype: DTypeLike | None = None) -> Array:
    return to(self, dtype)


def type_as(self: Array, other: Array) -> Array:
    """Cast to the type of `other`."""
    return self.astype(other.dtype)


def reshape(self: Array, shape: Sequence[int]) -> Array:
    """Change the shape."""
    return self.reshape(shape)


def view(self: Array, size: Sequence[int]) -> Array:
    """Change the shape."""
    return self.reshape(size)


_unsafe_view = view


def view_as(self: Array, other: Array) -> Array:
    """Change the shape to that of `other`."""
    return self.reshape(other.shape)


reshape_as = view_as


def flatten(self: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Merge the dimensions from `start_dim` to `end_dim` into one."""
    if not self.ndim:
        return self.reshape(1)
    first, last = start_dim % self.ndim, end_dim % self.ndim
    whole = math.prod(self.shape[first : last + 1])
    return self.reshape((*self.shape[:first], whole, *self.shape[last + 1 :]))


def unflatten(self: Array, dim: int, sizes: Sequence[int]) -> Array:
    """Split one dimension into several sizes."""
    dim %= self.ndim
    return self.reshape((*self.shape[:dim], *sizes, *self.shape[dim + 1 :]))


def expand(self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """Broadcast to a size, in which -1 keeps a dimension."""
    own = (1,) * (len(size) - self.ndim) + self.shape
    return jnp.broadcast_to(self, [have if want == -1 else want for want, have in zip(size, own, strict=True)])


def expand_as(self: Array, other: Array) -> Array:
    """Broadcast to the shape of `other`."""
    return jnp.broadcast_to(self, other.shape)


def broadcast_tensors(tensors: Sequence[Array]) -> list[Array]:
    """Broadcast tensors to one shape."""
    return jnp.broadcast_arrays(*tensors)


def unsqueeze(self: Array, dim: int) -> Array:
    """Insert a dimension of size one."""
    return jnp.expand_dims(self, dim)


def squeeze(self: Array, dim: Any = None) -> Array:
    """Remove dimensions of size one; other dimensions in `dim` stay."""
    dims = range(self.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return jnp.squeeze(self, tuple(each for each in dims if self.ndim and self.shape[each] == 1))


def transpose(self: Array, dim0: int, dim1: int) -> Array:
    """Swap two dimensions; a tensor without dimensions stays unchanged."""
    return jnp.swapaxes(self, dim0, dim1) if self.ndim else self


def swapaxes(self: Array, axis0: int, axis1: int) -> Array:
    """Swap two dimensions."""
    return transpose(self, axis0, axis1)


def permute(self: Array, dims: Sequence[int]) -> Array:
    """Reorder all dimensions."""
    return jnp.transpose(self, dims)


def movedim(self: Array, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move dimensions to other positions."""
    return jnp.moveaxis(self, source, destination)


def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Concatenate tensors; one of shape (0,) fits any other and is left out."""
    sized = [each for each in tensors if each.shape != (0,)] or tensors[:1]
    return jnp.concatenate(sized, dim)


concat = concatenate = cat


def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    """Join tensors along a new dimension."""
    return jnp.stack(tensors, dim)


def split(self: Array, split_size: Any, dim: int = 0) -> list[Array]:
    """Split a dimension into parts of one size, or of several given sizes."""
    if isinstance(split_size, (tuple, list)):
        return split_with_sizes(self, split_size, dim)
    return jnp.split(self, [*range(split_size, self.shape[dim], split_size)], dim)


def split_with_sizes(self: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    """Split a dimension into parts of the given sizes."""
    ends = [sum(split_sizes[: place + 1]) for place in range(len(split_sizes))]
    return jnp.split(self, ends[:-1], dim)


def chunk(self: Array, chunks: int, dim: int = 0) -> list[Array]:
    """Split a dimension into at most `chunks` parts of equal size, with a smaller last one."""
    return split(self, max(1, -(-self.shape[dim] // chunks)), dim)


def unbind(self: Array, dim: int = 0) -> list[Array]:
    """Return the tensors along a dimension, which is removed."""
    return [jnp.take(self, place, dim) for place in range(self.shape[dim])]


def repeat(self: Array, repeats: Sequence[int]) -> Array:
    """Tile a tensor."""
    return jnp.tile(self, repeats)


def repeat_interleave(self: Array, repeats: int, dim: int | None = None, output_size: int | None = None) -> Array:
    """Repeat each element a fixed number of times."""
    return jnp.repeat(self, repeats, dim)


def flip(self: Array, dims: Sequence[int]) -> Array:
    """Reverse dimensions."""
    return jnp.flip(self, dims)


def roll(self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    """Roll dimensions; without `dims`, roll the flattened tensor."""
    return jnp.roll(self, shifts if dims else shifts[0], dims or None)


def tril(self: Array, diagonal: int = 0) -> Array:
    """Return the lower triangle."""
    return jnp.tril(self, diagonal)


def triu(self: Array, diagonal: int = 0) -> Array:
    """Return the upper triangle."""
    return jnp.triu(self, diagonal)


def meshgrid(tensors: Sequence[Array], indexing: str = "ij") -> list[Array]:
    """Return the coordinate grids of vectors, with matrix indexing by default."""
    return jnp.meshgrid(*tensors, indexing=indexing)


def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Return a diagonal of two dimensions as the last dimension."""
    return jnp.diagonal(self, offset, dim1, dim2)


def constant_pad_nd(self: Array, pad: Sequence[int], value: ArrayLike = 0) -> Array:
    """Pad with a constant."""
    return _pad(self, pad, "constant", value)


def pad(self: Array, pad: Sequence[int], mode: str = "constant", value: ArrayLike | None = None) -> Array:
    """Pad by "constant", "reflect", "replicate" or "circular"."""
    return _pad(self, pad, mode, value or 0)


def _pad(tensor: Array, sides: Sequence[int], mode: str, value: ArrayLike) -> Array:
    """Pad a tensor; `sides` begin with the last dimension, and negative ones cut elements off."""
    widths = [(0, 0)] * tensor.ndim
    for place in range(len(sides) // 2):
        widths[-1 - place] = (sides[2 * place], sides[2 * place + 1])
    cut = tuple(slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(widths, tensor.shape, strict=True))
    more = {"constant_values": value} if mode == "constant" else {}
    return jnp.pad(tensor[cut], [(max(0, a), max(0, b)) for a, b in widths], _MODES[mode], **more)


def pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    """Rearrange channels into an image with larger sides."""
    *batch, channels, height, width = self.shape
    factor, new = upscale_factor, channels // upscale_factor**2
    parts = self.reshape((*batch, new, factor, factor, height, width))
    last = len(batch)
    order = [*range(last), last, last + 3, last + 1, last + 4, last + 2]
    return parts.transpose(order).reshape((*batch, new, height * factor, width * factor))


def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    """Return the windows along a dimension, in a new last dimension."""
    dimension %= self.ndim
    starts = jnp.arange(0, self.shape[dimension] - size + 1, step)
    windows = jnp.take(self, starts[:, None] + jnp.arange(size), dimension)
    return jnp.moveaxis(windows, dimension + 1, -1)


def diff(self: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Return the n-th difference along a dimension."""
    return jnp.diff(self, n, dim, prepend, append)
