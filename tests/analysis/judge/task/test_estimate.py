"""What sizes would take, before anything is computed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opbridge.analysis.judge.task.estimate import Limits, refusal

LIMITS = Limits(elements=1 << 10, work=1 << 20)


class Task:
    """A model and inputs for it; a terabyte of them is nothing where they are not drawn."""

    initial = ()

    def __init__(self, model: torch.nn.Module, *shape: int) -> None:
        self.model = model
        self._shape = shape

    def inputs(self, change: Any) -> Any:
        return change([torch.rand(self._shape)])


class LooksAtNumbers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Task(torch.nn.Linear(8, 8), 16, 8), ""),
        (lambda: Task(torch.nn.ReLU(), 1 << 20, 1 << 20), "1099511627776 elements"),
        (lambda: Task(torch.nn.Linear(32, 1 << 20), 4, 32), "2.7e+08 operations"),
        (lambda: Task(LooksAtNumbers(), 16), ""),
        (lambda: Task(torch.nn.LSTM(32, 1024), 4, 32), "3.5e+07 operations"),
        (lambda: Task(torch.nn.GRU(32, 32), 4, 32), ""),
    ],
)
def test_what_is_told_by_shapes(made: Any, said: str) -> None:
    assert refusal(made, LIMITS).startswith(said)
    assert bool(refusal(made, LIMITS)) == bool(said)
