"""What a norm takes follows from how many means it has, and of how many values each is."""

from __future__ import annotations

import pytest
import torch

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.pytorch.norms import Means, seconds
from opbridge.analysis.profile.pytorch.operator_recorder import Hollow

CHIP = chip_named("a100")
MOVING = 1e-3


def test_means_are_read_from_calls() -> None:
    with Hollow() as watched:
        x = torch.empty(8, 64, 64, 64)
        torch.nn.BatchNorm2d(64)(x)
        torch.nn.BatchNorm2d(64).eval()(x)
        torch.nn.GroupNorm(4, 64)(x)
    training, learnt, groups = (call.means for call in watched.calls if "norm" in call.name)
    assert training == Means(64, 8 * 64 * 64)
    assert learnt is None
    assert groups == Means(8 * 4, 64 // 4 * 64 * 64)


def test_many_means_take_one_more_reading() -> None:
    assert seconds(Means(10_000, 512), MOVING, CHIP) == pytest.approx(1.5 * MOVING)


def test_few_means_are_taken_by_few_blocks() -> None:
    assert seconds(Means(8, 512 * 10_000), MOVING, CHIP) == pytest.approx(MOVING + 10_000 * 500e-9)
    assert seconds(Means(432, 512 * 10_000), MOVING, CHIP) == pytest.approx(MOVING + 10_000 * 500e-9)
    assert seconds(Means(864, 512 * 10_000), MOVING, CHIP) == pytest.approx(MOVING + 2 * 10_000 * 500e-9)
