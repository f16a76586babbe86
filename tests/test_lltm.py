"""The kernel of examples/lltm against PyTorch, at sizes where registers are not full."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLE = Path(__file__).parents[1] / "examples" / "lltm"


@pytest.fixture(scope="module")
def cells() -> Any:
    sys.path.insert(0, str(EXAMPLE))
    try:
        import cells
    finally:
        sys.path.remove(str(EXAMPLE))
    return cells


def results(cell: Callable[..., Any], arguments: list[torch.Tensor], grads: tuple[torch.Tensor, ...]) -> Any:
    outputs = cell(*arguments)
    return *outputs, *torch.autograd.grad(outputs, arguments, grads)


@settings(deadline=None, max_examples=60)
@given(
    batch=st.integers(0, 40),
    state=st.integers(1, 40),
    inputs=st.integers(1, 40),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    size=st.sampled_from([1e-3, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_values_and_gradients_are_those_of_pytorch(
    cells: Any, batch: int, state: int, inputs: int, dtype: torch.dtype, size: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int, size: float = size) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=dtype) * size

    # Weights as a trained cell has them: gates of thousands would say how inexact exp is, not who is right.
    fan_in = state + inputs
    weights, bias = random(3 * state, fan_in, size=fan_in**-0.5), random(3 * state, size=1.0)
    arguments = [random(batch, inputs), random(batch, state), random(batch, state), weights, bias]
    for argument in arguments:
        argument.requires_grad_()
    grads = (random(batch, state), random(batch, state))
    expected = results(cells.python_cell, arguments, grads)
    # Large numbers cancel: what is left of the sums is as inexact as the sums were.
    scale = max(1.0, *(float(value.detach().abs().max()) for value in expected if value.numel()))
    tolerance = 1e-5 if dtype is torch.float32 else 1e-12
    for ours, theirs in zip(results(cells.kernel_cell(), arguments, grads), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=10 * tolerance, atol=scale * tolerance)
