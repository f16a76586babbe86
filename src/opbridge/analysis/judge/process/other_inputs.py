"""Call a model of an answer with inputs that lie elsewhere, and with ones that it has not met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from opbridge.analysis.judge.tensors import tensors_in


def run_elsewhere(inputs: Any, run: Callable[[Any], Any]) -> Any:
    """Call with the same inputs in other memory while their own holds NaN.

    Gradients are enabled, as in training; what does not support them is called without.
    """
    others = tree_map_only(torch.Tensor, lambda one: one.detach().clone(), inputs)
    with _without_numbers(inputs):
        try:
            with torch.enable_grad():
                return run(others)
        except RuntimeError:
            with torch.no_grad():
                return run(others)


@contextmanager
def changed_inputs(inputs: Any, seed: int) -> Iterator[None]:
    """Make floating-point inputs smaller, each number by another factor: zeros and signs stay."""
    kept = _floats(inputs)
    drawing = torch.Generator().manual_seed(seed)
    for one, _ in kept:
        factors = torch.rand(one.shape, generator=drawing) / 2 + 0.5
        one.mul_(factors.to(one.dtype).to(one.device))
    try:
        yield
    finally:
        _give_back(kept)


@contextmanager
def _without_numbers(inputs: Any) -> Iterator[None]:
    kept = _floats(inputs)
    for one, _ in kept:
        one.fill_(float("nan"))
    try:
        yield
    finally:
        _give_back(kept)


def _floats(inputs: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(one, one.cpu().clone()) for one in tensors_in(inputs) if one.is_floating_point()]


def _give_back(kept: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for one, before in kept:
        one.copy_(before)
