"""What a convolution takes follows from its window, its channels and its groups."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.pytorch.convolutions import Window, seconds
from opbridge.analysis.profile.pytorch.operator_recorder import Hollow

CHIP = chip_named("a100")
TENSORS = CHIP.matrix_rate / 2
PLAIN = Window(dimensions=2, taps=9, groups=1, channels=64, results=64, is_transposed=False)
MOVING = 1e-3


def taken(window: Window, operations: float = 0) -> float:
    return seconds(window, operations, MOVING, CHIP, TENSORS)


def test_windows_are_read_from_calls() -> None:
    with Hollow() as watched:
        x, weight = torch.empty(8, 64, 64, 64), torch.empty(64, 32, 3, 5)
        torch.nn.functional.conv2d(x, weight, groups=2)
        torch.nn.functional.conv_transpose2d(x, weight, dilation=2)
        torch.nn.functional.conv_transpose2d(x, weight, stride=2)
        torch.relu(x)
    plain, transposed, spread, other = (call.window for call in watched.calls if call.bytes and call.name != "empty")
    assert plain == Window(2, 15, groups=2, channels=32, results=32, is_transposed=False)
    assert transposed == Window(2, 15, groups=1, channels=64, results=32, is_transposed=True)
    assert spread == Window(2, 15, groups=1, channels=64, results=32, is_transposed=True, repeats=4)
    assert other is None


def test_tensors_are_turned_around_a_product_of_matrices() -> None:
    assert taken(PLAIN) == pytest.approx(3 * MOVING)
    assert taken(replace(PLAIN, taps=1)) == pytest.approx(MOVING)
    assert taken(PLAIN, 0.35 * TENSORS) == pytest.approx(2 * MOVING + 1)


def test_a_bias_is_added_to_what_has_come_out() -> None:
    with Hollow() as watched:
        x, weight, bias = torch.empty(8, 64, 64, 64), torch.empty(64, 64, 1, 1), torch.empty(64)
        torch.nn.functional.conv2d(x, weight, bias)
    (window,) = (call.window for call in watched.calls if call.window)
    assert window.biased == pytest.approx(1, rel=0.01)
    assert taken(window) == pytest.approx(2 * MOVING, rel=0.01)


def test_few_channels_leave_tiles_empty() -> None:
    work = 0.35 * TENSORS
    assert taken(replace(PLAIN, results=16), work) == pytest.approx(2 * MOVING + 2)
    assert taken(replace(PLAIN, channels=2), work) == pytest.approx(2 * MOVING + 4)
    volumes = replace(PLAIN, channels=2, dimensions=3)
    assert taken(volumes, work) == pytest.approx(2 * MOVING + 4)
    assert taken(replace(volumes, is_transposed=True), work) == pytest.approx(2 * MOVING + 16)


def test_one_channel_a_group_is_read_again_and_multiplied_without_tensor_cores() -> None:
    depthwise = replace(PLAIN, groups=64, channels=1, results=1)
    assert taken(depthwise) == pytest.approx(4 * MOVING)
    assert taken(depthwise, CHIP.float_rate) == pytest.approx(1)


def test_groups_and_spread_windows_are_slower() -> None:
    work = 0.1 * TENSORS
    slower = [
        replace(PLAIN, groups=4),
        replace(PLAIN, is_transposed=True, repeats=4),
    ]
    for window in slower:
        assert taken(window, work) > 2 * taken(PLAIN, work)
