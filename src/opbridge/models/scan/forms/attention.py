"""Attention, composed of products and a softmax."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, ops

_LEAST = {ms.float16: -65504.0}


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute attention; rows that a mask blocks as a whole give zeros, as in PyTorch."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = ops.repeat_interleave(key, groups, -3), ops.repeat_interleave(value, groups, -3)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = ops.matmul(query, key.swapaxes(-1, -2)) * factor
    least = _LEAST.get(scores.dtype, -3.0e38)
    blocked = None
    if is_causal:
        rows, columns = ops.arange(scores.shape[-2]), ops.arange(scores.shape[-1])
        blocked = columns.reshape(1, -1) > rows.reshape(-1, 1)
    elif attn_mask is not None and attn_mask.dtype == ms.bool_:
        blocked = ops.logical_not(attn_mask)
    elif attn_mask is not None:
        blocked = attn_mask == float("-inf")
        scores = scores + ops.maximum(attn_mask, ops.full_like(attn_mask, least))
    if blocked is None:
        weights = ops.softmax(scores, -1)
    else:
        weights = ops.masked_fill(ops.softmax(ops.masked_fill(scores, blocked, least), -1), blocked, 0.0)
    if dropout_p > 0:
        weights = ops.dropout(weights, dropout_p)
    return ops.matmul(weights, value)
