"""Activations and rotary position embeddings."""

from __future__ import annotations

import torch
from torch.nn import functional

from opbridge.base.errors import CallError
from opbridge.twins.ascend.torch_device.operators.registration import operator


@operator("npu_fast_gelu(Tensor self) -> Tensor")
def npu_fast_gelu(self: torch.Tensor) -> torch.Tensor:
    """Compute x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|)), which is x * sigmoid(1.702 x)."""
    return self * torch.sigmoid(1.702 * self)


@operator("npu_gelu(Tensor self, *, str approximate='none') -> Tensor")
def npu_gelu(self: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Compute PyTorch's GELU."""
    return functional.gelu(self, approximate=approximate)


@operator("npu_silu(Tensor self) -> Tensor")
def npu_silu(self: torch.Tensor) -> torch.Tensor:
    """Compute PyTorch's SiLU."""
    return functional.silu(self)


@operator("npu_swiglu(Tensor self, int dim=-1) -> Tensor")
def npu_swiglu(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Split a tensor in two along `dim` and return SiLU of the first half times the second."""
    gate, value = self.chunk(2, dim)
    return functional.silu(gate) * value


@operator("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor")
def npu_scaled_masked_softmax(
    x: torch.Tensor, mask: torch.Tensor, scale: float = 1, fixed_triu_mask: bool = False
) -> torch.Tensor:
    """Return the softmax of `scale * x`, with masked elements set to -10000.

    A fixed mask is the triangle above the diagonal.
    """
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    return functional.softmax((x.float() * scale).masked_fill(mask.bool(), -10000.0), -1).to(x.dtype)


def rotated(x: torch.Tensor, mode: str) -> torch.Tensor:
    """Rotate by halves (-second half, first half) or by pairs of neighbours.

    Raises:
        CallError: The mode is neither 'half' nor 'interleave'.
    """
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    raise CallError(f"rotary_mode is '{mode}'; expected 'half' or 'interleave'")


@operator("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') -> Tensor")
def npu_rotary_mul(self: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor, rotary_mode: str = "half") -> torch.Tensor:
    """Return `self * r1 + rotated(self) * r2`."""
    return self * r1 + rotated(self, rotary_mode) * r2


@operator(
    "npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', "
    "str rotary_mode='half') -> (Tensor, Tensor)"
)
def npu_apply_rotary_pos_emb(
    query: torch.Tensor,
    key: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: str = "BSND",
    rotary_mode: str = "half",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return query and key, each multiplied by `cos` and added to its rotation times `sin`."""
    made = (x * cos + rotated(x, rotary_mode) * sin for x in (query, key))
    return next(made), next(made)
