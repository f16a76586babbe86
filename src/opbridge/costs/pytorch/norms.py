"""How long norms take by PyTorch's kernels, which give a block to each mean: few means leave multiprocessors idle."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from opbridge.costs.chips import Chip

_THREADS = 512
"""Of a block, each of which takes one value after the other."""
_STEP = 500e-9
"""For one of them: memory answers an A100 in 404 ns, and a running mean divides by how many there are."""
_BLOCKS = 4
"""Of so many threads, at a time on a multiprocessor."""


@dataclass(frozen=True)
class Means:
    count: int
    length: int
    """Values of each."""


def means_of(name: str, args: Any) -> Means | None:
    """None where none are taken, as when a batch norm has learnt them."""
    if name == "native_batch_norm" and args[5]:
        return _of(args[0], args[0].shape[1])
    if name == "native_group_norm":
        return _of(args[0], args[3] * args[6])
    return None


def _of(given: Any, count: int) -> Means:
    return Means(count, given.numel() // max(count, 1))


def seconds(means: Means, moving: float, chip: Chip) -> float:
    """`moving` is what it takes to move what goes in and comes out once; what goes in is read for the means before."""
    rounds = max(1.0, means.count / (_BLOCKS * chip.cores))
    return moving + max(moving / 2, rounds * ceil(means.length / _THREADS) * _STEP)
