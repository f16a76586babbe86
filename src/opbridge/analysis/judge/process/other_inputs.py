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
    with _given_back(inputs) as floats:
        for one in floats:
            one.fill_(float("nan"))
        try:
            with torch.enable_grad():
                return run(others)
        except RuntimeError:
            with torch.no_grad():
                return run(others)


@contextmanager
def changed_inputs(inputs: Any, seed: int) -> Iterator[None]:
    """Make floating-point inputs smaller, each number by another factor: zeros and signs stay."""
    drawing = torch.Generator().manual_seed(seed)
    with _given_back(inputs) as floats:
        for one in floats:
            factors = torch.rand(one.shape, generator=drawing) / 2 + 0.5
            one.mul_(factors.to(one.dtype).to(one.device))
        yield


@contextmanager
def _given_back(inputs: Any) -> Iterator[list[torch.Tensor]]:
    """Yield the floating-point inputs, and restore their numbers at the end."""
    floats = [one for one in tensors_in(inputs) if one.is_floating_point()]
    kept = [one.cpu().clone() for one in floats]
    try:
        yield floats
    finally:
        for one, before in zip(floats, kept, strict=True):
            one.copy_(before)
