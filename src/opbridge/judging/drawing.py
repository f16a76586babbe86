"""Which numbers a task's inputs are: those that it draws, or others made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opbridge.judging.shapes import Plan

AS_DRAWN, OF_BOTH_SIGNS, LARGE = "as drawn", "of both signs", "large"

LARGEST = 16.0
"""Of large ones: behind a convolution or a matrix of usual scale some are 3 and more, where activations have their
bends, and an exponential of one is far from what float32 holds."""


def drawn(plan: Plan, seeds: tuple[int, ...], is_short: bool) -> list[tuple[int, str]]:
    """Seeds, and what numbers are made with them; those of both signs tell most."""
    first, second = seeds
    if plan.is_odd or plan.is_long or not is_short:
        return [(first, AS_DRAWN), (second, OF_BOTH_SIGNS)]
    return [(first, AS_DRAWN), (second, AS_DRAWN), (second, OF_BOTH_SIGNS), (second, LARGE)]


def change_of(numbers: str) -> Callable[[list[Any]], list[Any]]:
    return {AS_DRAWN: _as_drawn, OF_BOTH_SIGNS: _of_both_signs, LARGE: _large}[numbers]


def _as_drawn(inputs: list[Any]) -> list[Any]:
    return list(inputs)


def _of_both_signs(inputs: list[Any]) -> list[Any]:
    """Tasks mostly draw from 0 to 1; zeros stay, as those of a triangle."""
    return [_each_float(value, lambda tensor: tensor.where(tensor == 0, 4 * tensor - 2)) for value in inputs]


def _large(inputs: list[Any]) -> list[Any]:
    def scaled(tensor: Any) -> Any:
        return tensor * (LARGEST / tensor.abs().max().clamp(min=1e-6)) if tensor.numel() else tensor

    return [_each_float(value, scaled) for value in _of_both_signs(inputs)]


def _each_float(value: Any, change: Callable[[Any], Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return change(value) if value.is_floating_point() else value
    return [_each_float(item, change) for item in value] if isinstance(value, list) else value
