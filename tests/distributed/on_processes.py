"""examples/transformer on every process of torchrun's.  Run by test_training.py; leaves losses and a checkpoint."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "transformer"))

import checkpoints
from parallel import WAYS, join, leave
from train import Training

FOLDER = Path(os.environ["TRAINED"])
STEPS = 14
DIVIDED = [way for way in WAYS if way != "none"]


@pytest.fixture(scope="session", autouse=True)
def _group() -> Iterator[None]:
    join()
    yield
    leave()


@pytest.fixture(scope="session")
def alone() -> list[float]:
    """Return the losses of one process, which the first has computed for all."""
    losses: list[list[float]] = [[]]
    if dist.get_rank() == 0:
        training = Training("none", "opbridge")
        losses[0] = [training.step(number).item() for number in range(STEPS)]
        (FOLDER / "losses.json").write_text(json.dumps(losses[0]))
    dist.broadcast_object_list(losses)
    return losses[0]


def test_it_learns_as_with_pytorchs_operators(alone: list[float]) -> None:
    assert alone[-1] < alone[0] / 2
    if dist.get_rank() == 0:
        training = Training("none", "torch")
        assert [training.step(number).item() for number in range(STEPS)] == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("way", DIVIDED)
def test_divided_it_is_the_same_and_communicates_as_much(alone: list[float], way: str) -> None:
    ours, pytorchs = Training(way, "opbridge"), Training(way, "torch")
    loss, communication = ours.counted_step(0)
    assert communication == pytorchs.counted_step(0)[1]
    assert communication
    losses = [loss, *(ours.step(number) for number in range(1, 4))]
    assert [ours.divided.mean(loss) for loss in losses] == pytest.approx(alone[:4], rel=1e-4)


def test_a_checkpoint_of_one_division_is_loaded_into_another(alone: list[float]) -> None:
    saved = Training("fsdp", "opbridge")
    for number in range(5):
        saved.step(number)
    checkpoints.save(FOLDER, 4, saved.divided.model, saved.optimizer)
    loaded = Training("grid", "opbridge")
    assert checkpoints.resume(FOLDER, loaded.divided.model, loaded.optimizer) == 5
    losses = [loaded.divided.mean(loaded.step(number)) for number in (5, 6)]
    assert losses == pytest.approx(alone[5:7], rel=1e-4)


def test_operators_on_a_grid_get_dtensors() -> None:
    """Otherwise nothing of the above would say anything about `shard`."""
    training = Training("grid", "opbridge")
    seen: dict[str, set[type]] = {"norm": set(), "swiglu": set()}
    block = training.divided.model.blocks[0]
    norm, swiglu = block.feed_norm.rms_norm, block.feed.swiglu

    def seeing(name: str, function):
        def called(*tensors: torch.Tensor) -> torch.Tensor:
            seen[name] |= set(map(type, tensors))
            return function(*tensors)

        return called

    block.feed_norm.rms_norm, block.feed.swiglu = seeing("norm", norm), seeing("swiglu", swiglu)
    training.step(0)
    from torch.distributed.tensor import DTensor

    assert seen == {"norm": {DTensor}, "swiglu": {DTensor}}
