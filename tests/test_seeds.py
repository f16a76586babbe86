"""What tests draw without a seed of their own: the same numbers in every run, alone and after others."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

Drawn = tuple[float, float, list[float]]


def draw() -> Drawn:
    return random.random(), float(np.random.rand()), torch.rand(3).tolist()


def from_the_seed() -> Drawn:
    tensor = torch.rand(3, generator=torch.Generator().manual_seed(0))
    return random.Random(0).random(), float(np.random.RandomState(0).rand()), tensor.tolist()


@pytest.fixture(scope="module")
def first() -> Drawn:
    """By a fixture that many tests share, before any of them draws."""
    return draw()


def test_a_fixture_draws_from_the_seed(first: Drawn) -> None:
    assert first == from_the_seed()


@pytest.mark.parametrize("run", [1, 2])
def test_every_test_draws_from_the_seed(run: int) -> None:
    assert draw() == from_the_seed()
