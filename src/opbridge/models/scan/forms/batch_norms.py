"""Batch norms: by the statistics of a batch, or by running ones."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, ops


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalize by the batch statistics, or by the running ones, which stay unchanged."""
    sizes = (1, -1) + (1,) * (input.ndim - 2)
    if training or running_mean is None or running_var is None:
        mean, variance = _moments(input)
    else:
        mean, variance = running_mean.reshape(sizes), running_var.reshape(sizes)
    factor = ops.rsqrt(variance + eps)
    if weight is not None:
        factor = factor * weight.reshape(sizes)
    result = (input - mean) * factor
    if bias is not None:
        result = result + bias.reshape(sizes)
    return result.astype(input.dtype)


def _moments(image: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each channel, in float32 at least."""
    exact = image.astype(ms.float32) if image.dtype in (ms.float16, ms.bfloat16) else image
    axes = (0, *tuple(range(2, image.ndim)))
    mean = exact.mean(axes, True)
    return mean, ops.square(exact - mean).mean(axes, True)


def moved_statistics(image: Tensor, mean: Tensor, variance: Tensor, momentum: float) -> tuple[Tensor, Tensor]:
    """Return the running mean and variance of a batch norm after a batch."""
    of_batch, spread = _moments(ops.stop_gradient(image))
    count = image.size // image.shape[1]
    unbiased = spread.reshape(-1) * (count / (count - 1))
    moved = mean * (1 - momentum) + of_batch.reshape(-1) * momentum
    return moved.astype(mean.dtype), (variance * (1 - momentum) + unbiased * momentum).astype(variance.dtype)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Zero elements with probability `p` in training, and scale the others."""
    return ops.dropout(input, p) if train and p > 0 else input
