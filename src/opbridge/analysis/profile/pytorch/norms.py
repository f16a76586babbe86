"""Estimate the time of norms in PyTorch kernels, with a block per mean: few means leave multiprocessors idle."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from opbridge.analysis.profile.chips import Chip

_THREADS = 512
"""Threads of a block, each of which processes one value after another."""
_STEP = 500e-9
"""Seconds per value: A100 memory answers in 404 ns, and a running mean divides by the number of values."""
_BLOCKS = 4
"""Blocks of this size on a multiprocessor at a time."""


@dataclass(frozen=True)
class Means:
    """The means that a norm computes."""

    count: int
    length: int
    """The number of values of each mean."""


def means_of(name: str, args: Any) -> Means | None:
    """Return the means of a norm; None if it computes none, as a batch norm that uses learned ones."""
    if name == "native_batch_norm" and args[5]:
        return _of(args[0], args[0].shape[1])
    if name == "native_group_norm":
        return _of(args[0], args[3] * args[6])
    return None


def _of(given: Any, count: int) -> Means:
    return Means(count, given.numel() // max(count, 1))


def seconds(means: Means, moving: float, chip: Chip) -> float:
    """Return the predicted time; `moving` is the time to move inputs and results once.

    The input is read once more, for the means.
    """
    rounds = max(1.0, means.count / (_BLOCKS * chip.cores))
    return moving + max(moving / 2, rounds * ceil(means.length / _THREADS) * _STEP)
