"""PyTorch operators that MindSpore has under other names and arguments, with PyTorch signatures."""

from __future__ import annotations

from collections.abc import Sequence

import mindspore as ms
import numpy as np
from mindspore import Tensor, mint, ops

_ALL = slice(None)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalize over the last dimensions with `ops.LayerNorm`."""
    axis = input.ndim - len(normalized_shape)
    scale = ops.ones(normalized_shape, input.dtype) if weight is None else weight
    offset = ops.zeros(normalized_shape, input.dtype) if bias is None else bias
    return ops.LayerNorm(axis, axis, eps)(input, scale, offset)[0]


def cumsum(self: Tensor, dim: int, dtype: ms.Type | None = None) -> Tensor:
    """Return the cumulative sum; it is int64 for booleans and small integers, as in PyTorch."""
    if dtype is None and self.dtype not in (ms.float64, ms.float32, ms.float16, ms.int64):
        dtype = ms.int64
    return ops.cumsum(self if dtype is None else self.astype(dtype), dim)


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Index one dimension, which may be negative."""
    dim = dim if dim >= 0 else dim + self.ndim
    return self[(_ALL,) * dim + (index,)]


def slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Slice one dimension with `ops.gather`: a MindSpore index with a step has no gradient."""
    places = [*range(self.shape[dim])][start:end:step]
    return ops.gather(self, ms.Tensor(places, ms.int64), dim)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Look up rows with `ops.gather`; the row `padding_idx` has no gradient."""
    if scale_grad_by_freq or sparse:
        raise ValueError("ops.gather has no scale_grad_by_freq or sparse")
    if padding_idx != -1:
        is_padding = (ops.arange(weight.shape[0]) == padding_idx).reshape(-1, 1)
        weight = ops.where(is_padding, ops.stop_gradient(weight), weight)
    return ops.gather(weight, indices, 0)


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dimension into several sizes."""
    dim = dim if dim >= 0 else dim + self.ndim
    return self.reshape(self.shape[:dim] + tuple(sizes) + self.shape[dim + 1 :])


def clone(self: Tensor) -> Tensor:
    """Return a copy."""
    return self.copy()


def copy(self: Tensor, src: Tensor) -> Tensor:
    """Return `src` in the type and sizes of `self`."""
    return ops.broadcast_to(src.astype(self.dtype), self.shape)


def full(size: Sequence[int], fill_value: float, dtype: ms.Type | None = None) -> Tensor:
    """Return a filled tensor; without `dtype`, its type follows the fill value as in PyTorch."""
    if dtype is None:
        is_bool, is_int = isinstance(fill_value, bool), isinstance(fill_value, int)
        dtype = ms.bool_ if is_bool else ms.int64 if is_int else ms.float32
    return ops.full(tuple(size), fill_value, dtype=dtype)


def new_full(self: Tensor, size: Sequence[int], fill_value: float, dtype: ms.Type | None = None) -> Tensor:
    """Return a filled tensor of the type of `self`."""
    return ops.full(tuple(size), fill_value, dtype=dtype or self.dtype)


def scalar_tensor(s: float, dtype: ms.Type | None = None) -> Tensor:
    """Return a tensor without dimensions, float32 by default."""
    return ops.full((), s, dtype=dtype or ms.float32)


def topk(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the top values with int64 indices."""
    values, indices = ops.topk(self, k, dim, largest, sorted)
    return values, indices.astype(ms.int64)


def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Return the sorted values with int64 indices."""
    values, indices = ops.sort(self, dim, descending)
    return values, indices.astype(ms.int64)


def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the int64 indices that sort a tensor."""
    return sort(self, dim, descending)[1]


def argmin(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the int64 index of the smallest element."""
    return ops.argmin(self, dim, keepdim).astype(ms.int64)


def leaky_relu(self: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Apply `ops.leaky_relu` with the slope that PyTorch has by default."""
    return ops.leaky_relu(self, negative_slope)


def log_sigmoid(self: Tensor) -> Tensor:
    """Compute min(x, 0) - log1p(exp(-|x|)), which does not overflow."""
    return ops.minimum(self, 0) - ops.log1p(ops.exp(-ops.abs(self)))


def tanh(self: Tensor) -> Tensor:
    """Compute 2 sigmoid(2x) - 1: the error of `ops.tanh` on a CPU is up to 1e-4, and here 1e-6."""
    return ops.sigmoid(self * 2) * 2 - 1


def clamp_min(self: Tensor, min: float) -> Tensor:
    """Clamp a tensor from below."""
    return ops.clamp(self, min)


def bitwise_not(self: Tensor) -> Tensor:
    """Negate booleans logically, and integers bit by bit."""
    return ops.logical_not(self) if self.dtype == ms.bool_ else -1 - self


def repeat_interleave(self: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    """Repeat each element a fixed number of times."""
    return ops.repeat_interleave(self, repeats, dim)


def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Roll dimensions by splitting and concatenating; without `dims`, roll the flattened tensor."""
    rolled = self if dims else self.reshape(-1)
    for place in range(len(shifts)):
        dim = dims[place] if dims else 0
        size = rolled.shape[dim]
        first = -shifts[place] % size
        if first:
            before, after = ops.split(rolled, (first, size - first), dim)
            rolled = ops.concat((after, before), dim)
    return rolled.reshape(self.shape)


def concatenate(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along one dimension."""
    return ops.concat(tensors, dim)


def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor | None = None, value: float | None = None) -> Tensor:
    """Write `src` or the number `value` at the places of an index."""
    return mint.scatter(self, dim, index, value if src is None else src)


def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Tensor:
    """Add rows along one dimension with `ops.tensor_scatter_add`."""
    rows, more = self.swapaxes(0, dim), source.swapaxes(0, dim) * alpha
    return ops.tensor_scatter_add(rows, index.reshape(-1, 1), more).swapaxes(0, dim)


def linalg_vector_norm(
    self: Tensor, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: ms.Type | None = None
) -> Tensor:
    """Compute a vector norm; MindSpore takes its dimensions as a tuple."""
    return ops.vector_norm(self, ord, dim if dim is None else tuple(dim), keepdim, dtype=dtype)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root mean square over the last dimensions; `eps` is that of float32 by default."""
    least = float(np.finfo(np.float32).eps) if eps is None else eps
    axes = tuple(range(-len(normalized_shape), 0))
    normed = input * ops.rsqrt((input * input).mean(axes, keep_dims=True) + least)
    return normed if weight is None else normed * weight


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    axes = tuple(axis for axis in range(v.ndim) if axis != dim)
    return v * (g / ops.sqrt((v * v).sum(axes, keepdims=True)))
