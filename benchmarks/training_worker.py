"""The processes of the row `training`: `torchrun training_worker.py ROUNDS WAY...`; the first prints times as JSON."""

from __future__ import annotations

import json
import sys
import time
from itertools import count
from pathlib import Path

import torch.distributed as dist
from timing import Contestant, race

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "transformer"))

from model import OPERATORS, Sizes
from train import Training

_SIZES = Sizes(words=256, width=256, heads=4, inner=768, blocks=2, length=32, batch=16)
_STEPS = 2
"""In a turn; what comes before them warms up."""


def contestant(way: str, operators: str) -> Contestant:
    training, numbers = Training(way, operators, _SIZES), count()

    def steps() -> float:
        training.step(next(numbers))
        dist.barrier()
        start = time.perf_counter()
        for _ in range(_STEPS):
            training.step(next(numbers))
        dist.barrier()
        return (time.perf_counter() - start) / _STEPS

    steps()
    return steps


def main(rounds: int, ways: list[str]) -> None:
    dist.init_process_group("gloo")
    times = {way: race({name: contestant(way, name) for name in OPERATORS}, rounds) for way in ways}
    if dist.get_rank() == 0:
        print(json.dumps(times))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
