"""Convert between PyTorch tensors and the values of `opbridge.analysis.judge.values`."""

from __future__ import annotations

from typing import Any

import torch

from opbridge.analysis.judge.values import Array, Named


def to_values(value: Any) -> Any:
    """Convert nested tensors to arrays of bytes; a meta tensor has no bytes."""
    if isinstance(value, torch.Tensor) and value.is_meta:
        return Array(str(value.dtype).removeprefix("torch."), tuple(value.shape), b"")
    if isinstance(value, torch.Tensor):
        host = value.detach().to("cpu").contiguous()
        dtype = str(host.dtype).removeprefix("torch.")
        return Array(dtype, tuple(host.shape), host.reshape(-1).view(torch.uint8).numpy().tobytes())
    if isinstance(value, (torch.dtype, torch.device)):
        return Named(str(value))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        items = [to_values(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {key: to_values(item) for key, item in value.items()}
    return value


def to_tensors(value: Any, device: str) -> Any:
    """Convert nested arrays to tensors on a device; an array without bytes becomes uninitialized memory."""
    if isinstance(value, Array):
        dtype = getattr(torch, value.dtype)
        if not value.data:
            return torch.empty(value.shape, dtype=dtype, device=device)
        return torch.frombuffer(bytearray(value.data), dtype=dtype).reshape(value.shape).to(device)
    if isinstance(value, Named):
        name = value.name.removeprefix("torch.")
        return getattr(torch, name) if value.name.startswith("torch.") else torch.device(name)
    if isinstance(value, (list, tuple)):
        items = [to_tensors(item, device) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {key: to_tensors(item, device) for key, item in value.items()}
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors in nested values, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def widened(value: Any) -> Any:
    """Convert all floating-point tensors to float64."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        items = [widened(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {key: widened(item) for key, item in value.items()}
    return value
