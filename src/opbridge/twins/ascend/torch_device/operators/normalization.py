"""Norms, with the additions that precede them."""

from __future__ import annotations

import torch
from torch.nn import functional

from opbridge.twins.ascend.torch_device.operators.registration import operator

Tensors = tuple[torch.Tensor, ...]


def rms_normed(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the RMS norm in single precision; return it and the reciprocal of the root mean square."""
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    wide = x.float()
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return wide * rstd * gamma.float(), rstd


@operator("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def npu_rms_norm(self: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> Tensors:
    """Return the RMS norm and the reciprocal of the root mean square."""
    y, rstd = rms_normed(self, gamma, epsilon)
    return y.to(self.dtype), rstd


@operator("npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)")
def npu_add_rms_norm(x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> Tensors:
    """Return the RMS norm of x1 + x2, the reciprocal of the root mean square, and the sum."""
    total = x1 + x2
    y, rstd = rms_normed(total, gamma, epsilon)
    return y.to(x1.dtype), rstd, total


@operator(
    "npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, "
    "bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
def npu_add_layer_norm(
    x1: torch.Tensor,
    x2: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> Tensors:
    """Return the layer norm of x1 + x2, the mean, the reciprocal deviation, and the sum if asked for."""
    total = x1 + x2
    wide = total.float()
    mean = wide.mean(-1, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(-1, keepdim=True) + epsilon)
    y = (wide - mean) * rstd * gamma.float() + beta.float()
    return y.to(x1.dtype), mean, rstd, total if additional_output else torch.empty_like(total)


@operator(
    "npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) "
    "-> (Tensor, Tensor, Tensor)"
)
def npu_deep_norm(
    x: torch.Tensor,
    gx: torch.Tensor,
    beta: torch.Tensor,
    gamma: torch.Tensor,
    alpha: float = 0.3,
    epsilon: float = 1e-6,
) -> Tensors:
    """Return the mean, the reciprocal deviation and the layer norm of alpha * x + gx."""
    wide = x.float() * alpha + gx.float()
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    mean = wide.mean(dims, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(dims, keepdim=True) + epsilon)
    return mean, rstd, ((wide - mean) * rstd * gamma.float() + beta.float()).to(x.dtype)


@operator("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
def npu_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Compute PyTorch's linear layer."""
    return functional.linear(input, weight, bias)
