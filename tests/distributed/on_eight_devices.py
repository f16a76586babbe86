"""examples/transformer in JAX over eight devices.  Run by test_training.py, in a process that has them."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "transformer"))

from train_jax import Training

STEPS = 5


@pytest.fixture(scope="session")
def alone() -> list[float]:
    """The losses of one device."""
    training = Training("none", "opbridge")
    return [training.step(number) for number in range(STEPS)]


def test_there_are_eight() -> None:
    assert jax.device_count() == 8


def test_it_learns_as_with_jaxs_operators(alone: list[float]) -> None:
    training = Training("none", "jax")
    assert [training.step(number) for number in range(STEPS)] == pytest.approx(alone, rel=1e-4)
    assert alone[-1] < 0.8 * alone[0]


@pytest.mark.parametrize("way", ["mesh", "shard_map"])
def test_divided_it_is_the_same_and_communicates_as_much(alone: list[float], way: str) -> None:
    ours = Training(way, "opbridge")
    assert [ours.step(number) for number in range(STEPS)] == pytest.approx(alone, rel=1e-4)
    assert ours.collectives == Training(way, "jax").collectives
    assert ours.collectives
