"""Numbers made of those that a task draws."""

from __future__ import annotations

import pytest
import torch

from opbridge.analysis.judge.task.input_numbers import AS_DRAWN, LARGE, OF_BOTH_SIGNS, change_of, drawn
from opbridge.analysis.judge.task.shapes import LONG, ODD, PUBLISHED, SHRUNK, Plan

INPUTS = [torch.rand(8, 8).tril(), [torch.linspace(0.1, 0.9, 3), 2.5], torch.arange(5), "mean"]


@pytest.mark.parametrize(("numbers", "largest"), [(AS_DRAWN, 1.0), (OF_BOTH_SIGNS, 2.0), (LARGE, 16.0)])
def test_zeros_and_what_is_no_float_stay(numbers: str, largest: float) -> None:
    made, (more, rate), indices, word = change_of(numbers)(INPUTS)
    assert torch.equal(made == 0, INPUTS[0] == 0)
    assert torch.equal(indices, torch.arange(5))
    assert (rate, word) == (2.5, "mean")
    for tensor in (made, more):
        assert tensor.abs().max() <= largest
        assert bool((tensor < 0).any()) is (numbers != AS_DRAWN)
    if numbers == LARGE:
        assert [float(each.abs().max()) for each in (made, more)] == pytest.approx([largest, largest])


def test_what_has_no_elements_or_only_zeros_can_be_made_large() -> None:
    made = change_of(LARGE)([torch.zeros(3), torch.empty(0, 4)])
    assert [tensor.tolist() for tensor in made] == [[0.0, 0.0, 0.0], []]


@pytest.mark.parametrize(("kind", "is_short", "last"), [(SHRUNK, True, LARGE), (SHRUNK, False, OF_BOTH_SIGNS)])
def test_large_ones_are_drawn_where_there_is_time(kind: str, is_short: bool, last: str) -> None:
    assert drawn(Plan(kind), (1, 2), is_short)[-1] == (2, last)


@pytest.mark.parametrize("kind", [ODD, LONG, PUBLISHED])
def test_what_shows_other_things_takes_no_large_ones(kind: str) -> None:
    assert [numbers for _, numbers in drawn(Plan(kind), (1, 2), False)] == [AS_DRAWN, OF_BOTH_SIGNS]
