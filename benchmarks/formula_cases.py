"""Forty operators of KernelBench's first level and of transformers' models, as formulas and in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WHOLE, ROWS, WIDTH = 16 * 2**20, 4096, 1024
"""Elements of those that compute each by itself, and the matrix of the others."""


@dataclass(frozen=True)
class Case:
    name: str
    formula: str
    """Over tensors x, y, z, ..., as many as `torch` takes."""
    torch: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    is_learned: bool = True
    """Whether it has a gradient that anybody asks for."""
    is_positive: bool = False
    outputs: int = 1

    @property
    def is_elementwise(self) -> bool:
        return self.shapes[0] == (WHOLE,)


def cases() -> tuple[Case, ...]:
    import torch
    from torch.nn import functional as f

    one, two, row, matrix = (WHOLE,), ((WHOLE,), (WHOLE,)), (WIDTH,), (ROWS, WIDTH)
    elementwise = (
        Case("relu", "relu(x)", torch.relu, (one,)),
        Case("leaky_relu", "where(x > 0, x, 0.01 * x)", f.leaky_relu, (one,)),
        Case("sigmoid", "sigmoid(x)", torch.sigmoid, (one,)),
        Case("tanh", "tanh(x)", torch.tanh, (one,)),
        Case("silu", "silu(x)", f.silu, (one,)),
        Case("gelu", "0.5 * x * (1 + erf(x * 0.7071067811865476))", f.gelu, (one,)),
        Case(
            "gelu, by tanh",
            "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
            lambda x: f.gelu(x, approximate="tanh"),
            (one,),
        ),
        Case("quick_gelu", "x * sigmoid(1.702 * x)", lambda x: x * torch.sigmoid(1.702 * x), (one,)),
        Case(
            "selu",
            "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(x))",
            f.selu,
            (one,),
        ),
        Case("elu", "where(x > 0, x, expm1(x))", f.elu, (one,)),
        Case("hardsigmoid", "clip(x / 6 + 0.5, 0, 1)", f.hardsigmoid, (one,)),
        Case("hardswish", "x * clip(x / 6 + 0.5, 0, 1)", f.hardswish, (one,)),
        Case("hardtanh", "clip(x, -1, 1)", f.hardtanh, (one,)),
        Case("softplus", "softplus(x)", f.softplus, (one,)),
        Case("softsign", "x / (1 + abs(x))", f.softsign, (one,)),
        Case("mish", "x * tanh(softplus(x))", f.mish, (one,)),
        Case("relu squared", "square(relu(x))", lambda x: torch.square(torch.relu(x)), (one,)),
        Case("swiglu", "silu(x) * y", lambda x, y: f.silu(x) * y, two),
        Case("geglu", "0.5 * x * (1 + erf(x * 0.7071067811865476)) * y", lambda x, y: f.gelu(x) * y, two),
        Case("add and scale", "(x + y) * 0.7", lambda x, y: (x + y) * 0.7, two),
    )
    normed = (
        Case(
            "rms_norm",
            "x * rsqrt(mean(x * x, -1, keepdim=True) + 1e-6) * y",
            lambda x, y: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * y,
            (matrix, row),
        ),
        Case(
            "rms_norm of a residual",
            "h = x + y\nh * rsqrt(mean(h * h, -1, keepdim=True) + 1e-6) * z",
            lambda x, y, z: (x + y) * torch.rsqrt((x + y).square().mean(-1, keepdim=True) + 1e-6) * z,
            (matrix, matrix, row),
        ),
        Case(
            "layer_norm",
            "(x - mean(x, -1, keepdim=True)) * rsqrt(var(x, -1, keepdim=True) + 1e-5) * y + z",
            lambda x, y, z: f.layer_norm(x, (WIDTH,), y, z),
            (matrix, row, row),
        ),
        Case(
            "instance_norm",
            "(x - mean(x, [-2, -1], keepdim=True)) * rsqrt(var(x, [-2, -1], keepdim=True) + 1e-5)",
            f.instance_norm,
            ((16, 64, 64, 64),),
        ),
        Case(
            "batch_norm",
            "(x - mean(x, [0, 2], keepdim=True)) * rsqrt(var(x, [0, 2], keepdim=True) + 1e-5)",
            lambda x: f.batch_norm(x, None, None, training=True),
            ((16, 64, 4096),),
        ),
        Case(
            "l2 norm", "x / sqrt(sum(x * x, -1, keepdim=True))", lambda x: x / x.norm(dim=-1, keepdim=True), (matrix,)
        ),
        Case(
            "l1 norm",
            "x / mean(abs(x), -1, keepdim=True)",
            lambda x: x / x.abs().mean(-1, keepdim=True),
            (matrix,),
        ),
        Case("frobenius norm", "x / sqrt(sum(x * x))", lambda x: x / x.norm(), (matrix,)),
        Case("softmax", "softmax(x, -1)", lambda x: torch.softmax(x, -1), (matrix,)),
        Case("log_softmax", "log_softmax(x, -1)", lambda x: torch.log_softmax(x, -1), (matrix,)),
        Case(
            "softmax of masked scores",
            "softmax(x * 0.125 + y, -1)",
            lambda x, y: torch.softmax(x * 0.125 + y, -1),
            (matrix, row),
        ),
        Case("logsumexp", "logsumexp(x, -1)", lambda x: torch.logsumexp(x, -1), (matrix,)),
    )
    losses = (
        Case("mse", "mean(square(x - y))", f.mse_loss, (matrix, matrix)),
        Case(
            "smooth l1",
            "d = abs(x - y)\nmean(where(d < 1, 0.5 * d * d, d - 0.5))",
            f.smooth_l1_loss,
            (matrix, matrix),
        ),
        Case("hinge", "mean(clip(1 - x * y, min=0))", lambda x, y: (1 - x * y).clamp(min=0).mean(), (matrix, matrix)),
        Case(
            "kl divergence",
            "sum(y * (log(y) - log(x)))",
            lambda x, y: (y * (y.log() - x.log())).sum(),
            (matrix, matrix),
            is_positive=True,
        ),
        Case(
            "binary cross entropy of logits",
            "mean(softplus(x) - x * y)",
            f.binary_cross_entropy_with_logits,
            (matrix, matrix),
        ),
        Case(
            "cross entropy of distributions",
            "mean(logsumexp(x, -1) - sum(x * y, -1))",
            lambda x, y: (torch.logsumexp(x, -1) - (x * y).sum(-1)).mean(),
            (matrix, matrix),
        ),
    )
    steps = (
        Case(
            "a step of SGD",
            "m = 0.9 * z + y\nx - 0.01 * m, m",
            lambda x, y, z: (x - 0.01 * (0.9 * z + y), 0.9 * z + y),
            (matrix,) * 3,
            is_learned=False,
            outputs=2,
        ),
        Case(
            "a step of AdamW",
            "m = 0.9 * z + 0.1 * y\nv = 0.999 * w + 0.001 * y * y\nx * 0.999 - 0.001 * m / (sqrt(v) + 1e-8), m, v",
            _adamw,
            (matrix,) * 4,
            is_learned=False,
            is_positive=True,
            outputs=3,
        ),
    )
    return elementwise + normed + losses + steps


def _adamw(x: Any, y: Any, z: Any, w: Any) -> tuple[Any, Any, Any]:
    m, v = 0.9 * z + 0.1 * y, 0.999 * w + 0.001 * y * y
    return x * 0.999 - 0.001 * m / (v.sqrt() + 1e-8), m, v
