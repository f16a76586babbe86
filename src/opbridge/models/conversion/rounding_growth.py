"""Measure how far training amplifies the float32 rounding of weights, by PyTorch runs from slightly changed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from opbridge.models.conversion.saved_values import put_back

_OFF = 2.0**-21
"""The relative rounding error of a few float32 operators."""


def carried(
    module: torch.nn.Module,
    start: dict[str, torch.Tensor],
    trained: Mapping[str, torch.nn.Parameter],
    gradients: Callable[[], Any],
    steps: int,
    rate: float,
) -> dict[str, float]:
    """Return the largest distance of each parameter from its current value, after the same steps from changed ones."""
    after = {name: value.detach().clone() for name, value in trained.items()}
    put_back(module, start)
    _begin_off(trained)
    for _ in range(steps):
        descend(trained, gradients(), rate)
    return {name: float((value.detach() - after[name]).abs().max()) for name, value in trained.items() if value.numel()}


def descend(trained: Mapping[str, torch.nn.Parameter], gradients: Mapping[str, torch.Tensor], rate: float) -> None:
    """Take one step of training: subtract each gradient, times the rate."""
    with torch.no_grad():
        for name, value in trained.items():
            value.sub_(rate * gradients[name])


def gradients_apart(
    trained: Mapping[str, torch.nn.Parameter], wanted: Mapping[str, torch.Tensor], gradients: Callable[[], Any]
) -> dict[str, float]:
    """Return the largest distance of each gradient from `wanted`, for slightly changed weights."""
    before = {name: value.detach().clone() for name, value in trained.items()}
    _begin_off(trained)
    found = gradients()
    with torch.no_grad():
        for name, value in trained.items():
            value.copy_(before[name])
    return {name: float((found[name] - each).abs().max()) for name, each in wanted.items() if each.numel()}


def _begin_off(trained: Mapping[str, torch.nn.Parameter]) -> None:
    kept = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in trained.values():
            signs = torch.randint(0, 2, value.shape, generator=kept) * 2 - 1
            value.add_((value * signs * _OFF).to(value.dtype))
