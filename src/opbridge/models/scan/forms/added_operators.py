"""Operators that a conversion adds: they lead results back into tensors that were written to."""

from __future__ import annotations

from collections.abc import Sequence

import mindspore as ms
from mindspore import Tensor, ops


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Add a dimension."""
    return self.expand_dims(dim)


def eq(self: Tensor, other: Tensor) -> Tensor:
    """Compare element by element."""
    return ops.equal(self, other)


def to(self: Tensor, dtype: ms.Type) -> Tensor:
    """Convert the element type."""
    return self.astype(dtype)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Repeat a tensor to the sizes of another."""
    return ops.broadcast_to(self, other.shape)


def expand(self: Tensor, size: Sequence[int]) -> Tensor:
    """Repeat a tensor to sizes, in which -1 keeps one."""
    return ops.broadcast_to(self, tuple(size))


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Reorder the dimensions."""
    return ops.transpose(self, tuple(dims))


def masked_fill(self: Tensor, mask: Tensor, value: float) -> Tensor:
    """Fill the elements where a mask is true."""
    return ops.masked_fill(self, mask, value)


def mean(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """Return the mean over dimensions."""
    return self.mean(tuple(dim), keepdim)


def var_mean(self: Tensor, dim: Sequence[int], correction: int = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean over dimensions."""
    axes = tuple(dim)
    middle = self.mean(axes, True)
    count = 1
    for axis in axes:
        count = count * self.shape[axis]
    variance = ops.square(self - middle).sum(axes, keepdims=keepdim) / (count - correction)
    return variance, middle if keepdim else middle.reshape(variance.shape)


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Replace one place along a dimension."""
    size = self.shape[dim]
    place = index % size
    return _replaced(self, src.expand_dims(dim), dim, place, place + 1)


def slice_scatter(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Replace a range along a dimension; with a step, place after place."""
    places = range(self.shape[dim])[start:end:step]
    if step == 1:
        return _replaced(self, src, dim, places[0], places[-1] + 1) if len(places) else self
    rows = ops.split(src, 1, dim)
    for index in range(len(places)):
        self = _replaced(self, rows[index], dim, places[index], places[index] + 1)
    return self


def _replaced(self: Tensor, part: Tensor, dim: int, start: int, end: int) -> Tensor:
    size = self.shape[dim]
    sizes = (start, end - start, size - end)
    before, _, after = ops.split(self, sizes, dim)
    kept = [part.astype(self.dtype)]
    if start:
        kept = [before, *kept]
    if end < size:
        kept = [*kept, after]
    return ops.concat(kept, dim)


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Change the sizes."""
    return self.reshape(tuple(shape))


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions."""
    return self.swapaxes(dim0, dim1)
