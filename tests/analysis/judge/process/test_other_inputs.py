"""Inputs elsewhere and inputs that are new; an answer gets its own ones back."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from opbridge.analysis.judge.process.other_inputs import changed_inputs, run_elsewhere  # noqa: E402


def test_the_first_memory_is_no_more_what_it_was() -> None:
    inputs = [torch.arange(3.0), torch.arange(2), 7]
    first = inputs[0]
    seen = run_elsewhere(inputs, lambda given: (first.isnan().all().item(), torch.is_grad_enabled(), given))
    assert seen[:2] == (True, True)
    assert seen[2][0].tolist() == first.tolist() == [0.0, 1.0, 2.0]
    assert seen[2][0].data_ptr() != first.data_ptr()
    assert seen[2][2] == 7


def test_what_has_no_gradients_is_called_without() -> None:
    weight = torch.ones(1, requires_grad=True)
    assert run_elsewhere([torch.ones(1)], lambda given: weight.add_(given[0])).tolist() == [2.0]


def test_new_numbers_keep_zeros_and_signs() -> None:
    inputs = [torch.tensor([0.0, -4.0, 4.0]), torch.arange(2)]
    with changed_inputs(inputs, seed=1):
        zero, negative, positive = inputs[0].tolist()
        assert (zero, inputs[1].tolist()) == (0.0, [0, 1])
        assert -4 < negative <= -2
        assert 2 <= positive < 4
    assert inputs[0].tolist() == [0.0, -4.0, 4.0]
