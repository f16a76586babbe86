"""Choose the numbers in the inputs of a task: those that it draws, or others derived from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opbridge.analysis.judge.task.shapes import Plan

AS_DRAWN, OF_BOTH_SIGNS, LARGE = "as drawn", "of both signs", "large"

LARGEST = 16.0
"""The largest of large numbers.

After a convolution or a matrix of usual scale, some values reach 3, where activations bend. The exponential of this
number is still far from the float32 limit.
"""


def drawn(plan: Plan, seeds: tuple[int, ...], is_short: bool) -> list[tuple[int, str]]:
    """Return the seeds to draw with, and the kind of numbers for each; numbers of both signs show the most."""
    first, second = seeds
    if plan.is_odd or plan.is_long or not is_short:
        return [(first, AS_DRAWN), (second, OF_BOTH_SIGNS)]
    return [(first, AS_DRAWN), (second, AS_DRAWN), (second, OF_BOTH_SIGNS), (second, LARGE)]


def change_of(numbers: str) -> Callable[[list[Any]], list[Any]]:
    """Return the function that turns drawn inputs into this kind of numbers."""
    return {AS_DRAWN: _as_drawn, OF_BOTH_SIGNS: _of_both_signs, LARGE: _large}[numbers]


def _as_drawn(inputs: list[Any]) -> list[Any]:
    return list(inputs)


def _of_both_signs(inputs: list[Any]) -> list[Any]:
    """Map inputs to both signs: tasks usually draw from 0 to 1. Zeros stay, such as those of a triangular matrix."""
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
