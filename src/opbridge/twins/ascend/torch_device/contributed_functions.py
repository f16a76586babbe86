"""The functions of torch_npu.contrib, computed by PyTorch's own operators on any device.

torch_npu has them as faster forms of common parts of networks: the results are those of the common form.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from opbridge.base.errors import InputError

_NOT_ZERO = 1e-3
"""What ptiou adds to an area of pixels before it divides by it."""


class _WrongType(InputError, TypeError):
    """A tensor of another element type than the function takes."""


def roll(x: Tensor, shifts: tuple[int, int], dims: tuple[int, int]) -> Tensor:
    """Roll the middle dimensions of a tensor of four, as windows of a Swin transformer are shifted."""
    if x.dim() != 4 or len(shifts) != 2 or len(dims) != 2:
        raise InputError(f"roll expects 4 dimensions, 2 shifts and 2 dims, got {x.dim()}, {len(shifts)}, {len(dims)}")
    return torch.roll(x, shifts=shifts, dims=(1, 2))


def matmul_transpose(tensor1: Tensor, tensor2: Tensor) -> Tensor:
    """Return the product with the second tensor transposed in its last two dimensions."""
    return torch.matmul(tensor1, tensor2.transpose(-2, -1))


def fuse_add_softmax_dropout(
    training: bool,
    dropout: Callable[[Tensor], Tensor],
    attn_mask: Tensor,
    attn_scores: Tensor,
    attn_head_size: float,
    p: float = 0.5,
    dim: int = -1,
) -> Tensor:
    """Return attention weights: the scaled scores and the mask, their softmax, and dropout."""
    weights = functional.softmax(torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size)), dim=dim)
    return dropout(weights)


def dropout_with_byte_mask(input1: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop elements of a tensor, as PyTorch's dropout does."""
    return functional.dropout(input1, p, training, inplace)


def npu_fast_condition_index_put(x: Tensor, condition: Tensor, value: float) -> Tensor:
    """Return a tensor with a value wherever a condition holds."""
    if condition.dtype != torch.bool:
        raise _WrongType(f"npu_fast_condition_index_put expects a condition of torch.bool, got {condition.dtype}")
    return torch.where(condition, torch.as_tensor(value, dtype=x.dtype, device=x.device), x)


def npu_iou(
    boxes1: Tensor,
    boxes2: Tensor,
    mode: str = "ptiou",
    is_normalized: bool = False,
    normalized_scale: float = 100.0,
) -> Tensor:
    """Return the intersection over union of each of N boxes with each of M, all as xmin, ymin, xmax, ymax."""
    if mode not in ("iou", "ptiou"):
        raise InputError(f"npu_iou expects mode iou or ptiou, got {mode}")
    scale = normalized_scale if is_normalized else 1.0
    first, second = (
        boxes.float() * scale if boxes.dtype != torch.half else boxes * scale for boxes in (boxes1, boxes2)
    )
    low = torch.maximum(first[:, None, :2], second[None, :, :2])
    high = torch.minimum(first[:, None, 2:], second[None, :, 2:])
    overlap = (high - low).clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None] - overlap
    return (overlap + (_NOT_ZERO if mode == "iou" else 0)) / (union + _NOT_ZERO)


npu_ptiou = npu_iou
