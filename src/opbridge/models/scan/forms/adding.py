"""Operators that a conversion adds: they lead results back into tensors that were written to."""

from __future__ import annotations

from typing import Any

from mindspore import ops


def unsqueeze(self: Any, dim: int) -> Any:
    """Add a dimension."""
    return self.expand_dims(dim)


def eq(self: Any, other: Any) -> Any:
    """Compare element by element."""
    return ops.equal(self, other)


def to(self: Any, dtype: Any) -> Any:
    """Convert the element type."""
    return self.astype(dtype)


def expand_as(self: Any, other: Any) -> Any:
    """Repeat a tensor to the sizes of another."""
    return ops.broadcast_to(self, other.shape)


def expand(self: Any, size: Any) -> Any:
    """Repeat a tensor to sizes, in which -1 keeps one."""
    return ops.broadcast_to(self, tuple(size))


def permute(self: Any, dims: Any) -> Any:
    """Reorder the dimensions."""
    return ops.transpose(self, tuple(dims))


def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """Fill the elements where a mask is true."""
    return ops.masked_fill(self, mask, value)


def mean(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """Return the mean over dimensions."""
    return self.mean(tuple(dim), keepdim)


def var_mean(self: Any, dim: Any, correction: int = 1, keepdim: bool = False) -> Any:
    """Return the variance and the mean over dimensions."""
    axes = tuple(dim)
    middle = self.mean(axes, True)
    count = 1
    for axis in axes:
        count = count * self.shape[axis]
    variance = ops.square(self - middle).sum(axes, keepdims=keepdim) / (count - correction)
    return variance, middle if keepdim else middle.reshape(variance.shape)


def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    """Replace one place along a dimension."""
    size = self.shape[dim]
    place = index % size
    return _replaced(self, src.expand_dims(dim), dim, place, place + 1)


def slice_scatter(
    self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """Replace a range along a dimension; with a step, place after place."""
    places = range(self.shape[dim])[start:end:step]
    if step == 1:
        return _replaced(self, src, dim, places[0], places[-1] + 1) if len(places) else self
    rows = ops.split(src, 1, dim)
    for index in range(len(places)):
        self = _replaced(self, rows[index], dim, places[index], places[index] + 1)
    return self


def _replaced(self: Any, part: Any, dim: int, start: int, end: int) -> Any:
    size = self.shape[dim]
    sizes = (start, end - start, size - end)
    before, _, after = ops.split(self, sizes, dim)
    kept = [part.astype(self.dtype)]
    if start:
        kept = [before, *kept]
    if end < size:
        kept = [*kept, after]
    return ops.concat(kept, dim)


def reshape(self: Any, shape: Any) -> Any:
    """Change the sizes."""
    return self.reshape(tuple(shape))


def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions."""
    return self.swapaxes(dim0, dim1)
