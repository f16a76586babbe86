"""Operators of PyTorch's that MindSpore has under other names and arguments, by PyTorch's signatures."""

from __future__ import annotations

from typing import Any

import mindspore as ms
from mindspore import ops


def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    axis = input.ndim - len(normalized_shape)
    scale = ops.ones(normalized_shape, input.dtype) if weight is None else weight
    offset = ops.zeros(normalized_shape, input.dtype) if bias is None else bias
    return ops.LayerNorm(axis, axis, eps)(input, scale, offset)[0]


def cumsum(self: Any, dim: int, dtype: Any = None) -> Any:
    """Of booleans and small integers, PyTorch's is int64."""
    if dtype is None and self.dtype not in (ms.float64, ms.float32, ms.float16, ms.int64):
        dtype = ms.int64
    return ops.cumsum(self if dtype is None else self.astype(dtype), dim)


def select(self: Any, dim: int, index: int) -> Any:
    dim = dim if dim >= 0 else dim + self.ndim
    return self[(slice(None),) * dim + (index,)]


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Where no row is left out of the gradient."""
    if padding_idx != -1 or scale_grad_by_freq or sparse:
        raise ValueError("ops.gather has no padding_idx, scale_grad_by_freq or sparse")
    return ops.gather(weight, indices, 0)


def unflatten(self: Any, dim: int, sizes: Any) -> Any:
    dim = dim if dim >= 0 else dim + self.ndim
    return self.reshape(self.shape[:dim] + tuple(sizes) + self.shape[dim + 1 :])
