"""Operators that torch_npu adds and programs use most, made of PyTorch's: `torch_npu.npu_rms_norm`, `torch.ops.npu.*`.

Made of PyTorch's, they have gradients and run wherever their arguments are.  Memory formats other than the plain one
are a matter of hardware: asking for one changes nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

import opbridge.npu  # noqa: F401 - the devices that formats are asked of

FORMAT_ND = 2
"""acl's number for the plain format, which every tensor here has."""

_library = torch.library.Library("npu", "FRAGMENT")

EXPOSED: list[str] = []
"""What torch_npu shows of them."""


def _operator(schema: str) -> Callable[[Callable[..., Any]], Any]:
    def define(function: Callable[..., Any]) -> Any:
        name = schema.partition("(")[0]
        _library.define(schema)
        _library.impl(name, function, "CompositeImplicitAutograd")
        EXPOSED.append(name)
        return getattr(torch.ops.npu, name)

    return define


@_operator("npu_format_cast(Tensor self, int acl_format) -> Tensor")
def npu_format_cast(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    return self.clone()


@_operator("npu_format_cast_(Tensor(a!) self, int acl_format) -> Tensor(a!)")
def npu_format_cast_(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    return self


@_operator("get_npu_format(Tensor self) -> int")
def get_npu_format(self: torch.Tensor) -> int:
    return FORMAT_ND


@_operator("npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor")
def npu_dtype_cast(self: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return self.to(dtype)


@_operator("npu_fast_gelu(Tensor self) -> Tensor")
def npu_fast_gelu(self: torch.Tensor) -> torch.Tensor:
    """x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|)), which is x times the sigmoid of 1.702 x."""
    return self * torch.sigmoid(1.702 * self)


@_operator("npu_swiglu(Tensor self, int dim=-1) -> Tensor")
def npu_swiglu(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    gate, value = self.chunk(2, dim)
    return functional.silu(gate) * value


@_operator("npu_rms_norm(Tensor self, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)")
def npu_rms_norm(self: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """The result, and the reciprocal of the root mean square in single precision."""
    dims = tuple(range(self.dim() - gamma.dim(), self.dim()))
    wide = self.float()
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma.float()).to(self.dtype), rstd


@_operator("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2) -> Tensor")
def npu_rotary_mul(self: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor) -> torch.Tensor:
    """By halves: self * r1 + (-second half, first half) * r2."""
    first, second = self.chunk(2, -1)
    return self * r1 + torch.cat((-second, first), -1) * r2
