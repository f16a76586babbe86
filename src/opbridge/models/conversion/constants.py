"""Write constant tensors as NumPy expressions, which need no PyTorch."""

from __future__ import annotations

import math

import torch

_MOST = 4096
"""Elements of the largest tensor that is written number by number."""


def numpy_text(tensor: torch.Tensor) -> str | None:
    """Return a NumPy expression for a tensor; None if it is too large, or of a type that NumPy lacks."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.dtype is torch.bfloat16 or tensor.is_complex():
        return None
    if tensor.numel() > 1 and bool((tensor == tensor.flatten()[0]).all()):
        return f'np.full({tuple(tensor.shape)}, {_number(tensor.flatten()[0].item())}, "{dtype}")'
    if found := _progression(tensor):
        return f'np.arange({found}, dtype="{dtype}")'
    if tensor.numel() > _MOST:
        return None
    return f'np.array({_nested(tensor.tolist())}, "{dtype}").reshape({tuple(tensor.shape)})'


def _progression(tensor: torch.Tensor) -> str | None:
    if tensor.ndim != 1 or tensor.numel() < 3 or tensor.is_floating_point() or tensor.dtype is torch.bool:
        return None
    first, second = int(tensor[0]), int(tensor[1])
    step = second - first
    end = first + step * tensor.numel()
    is_one = step and torch.equal(torch.arange(first, end, step), tensor.long())
    return f"{first}, {end}, {step}" if is_one else None


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    return _number(value)


def _number(value: object) -> str:
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
