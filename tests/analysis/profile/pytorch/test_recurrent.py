"""A recurrent layer is one call on a GPU, whose steps wait for one another; here none of them is computed."""

from __future__ import annotations

import pytest
import torch

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.profile_contents import LAUNCH
from opbridge.analysis.profile.pytorch.operator_recorder import Hollow
from opbridge.analysis.profile.pytorch.operator_times import GAP, Call, seconds
from opbridge.analysis.profile.pytorch.recurrent import Recurrent

ROWS, STEPS, WIDTH, HIDDEN, LAYERS = 10, 512, 128, 256, 3


def called(layer: torch.nn.Module, *given: object) -> tuple[object, list[Call]]:
    with torch.no_grad(), Hollow() as watched, Recurrent(watched.calls.append):
        return layer(*given), watched.calls


@pytest.mark.parametrize(("kind", "gates"), [(torch.nn.LSTM, 4), (torch.nn.GRU, 3), (torch.nn.RNN, 1)])
def test_a_layer_is_one_call_with_its_products(kind: type[torch.nn.RNNBase], gates: int) -> None:
    layer = kind(WIDTH, HIDDEN, num_layers=LAYERS, batch_first=True)
    _, calls = called(layer, torch.empty(ROWS, STEPS, WIDTH))
    (call,) = (call for call in calls if call.steps)
    weights = gates * HIDDEN * (WIDTH + HIDDEN + (LAYERS - 1) * 2 * HIDDEN)
    assert (call.steps, call.operations) == (STEPS * LAYERS, 2.0 * ROWS * STEPS * weights)


def test_its_outputs_have_the_sizes_that_the_layer_gives() -> None:
    layer = torch.nn.LSTM(WIDTH, HIDDEN, num_layers=LAYERS, bidirectional=True)
    given = torch.empty(STEPS, ROWS, WIDTH)
    (output, states), _ = called(layer, given)
    assert output.shape == (STEPS, ROWS, 2 * HIDDEN)
    assert [state.shape for state in states] == [(2 * LAYERS, ROWS, HIDDEN)] * 2


def test_its_steps_wait_for_one_another() -> None:
    chip = chip_named("a100")
    few = Call("lstm", "float32", 0, 8, steps=1)
    many = Call("lstm", "float32", 0, 8, steps=1001)
    assert seconds(many, chip) - seconds(few, chip) == pytest.approx(1000 * 2 * (LAUNCH.seconds + GAP))


def test_packed_sequences_are_counted_step_by_step() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.rand(3, WIDTH), torch.rand(2, WIDTH)])
    (output, _), calls = called(torch.nn.GRU(WIDTH, HIDDEN), packed)
    assert output.data.shape == (5, HIDDEN)
    assert not any(call.steps for call in calls)
    assert any(call.operations for call in calls)
