"""Measuring by pairs: whoever is compared runs in turns, so that a machine that is busy for a while is so for both."""

from __future__ import annotations

import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_BURST_SECONDS = 1e-3
_WARM_UP_CALLS = 200
_REST_SECONDS = 0.02


@dataclass(frozen=True)
class Spread:
    """The median of some numbers, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


Contestant = Callable[[], float]
"""Runs once, or one burst of calls, and says how many seconds one took."""


def race(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[float]]:
    """The times of each, round by round; every round starts with another one, so that no place is an advantage."""
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(contestants[name]())
    return times


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """How long ours takes in units of theirs, pair by pair."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])


def burst(statement: str, *, finish: Callable[[], None] | None = None, **names: object) -> Contestant:
    """A contestant that runs a statement as often as fits a millisecond, at least once.

    `finish` waits for what the statements only started, and counts too.
    """
    timer = timeit.Timer(statement, globals=names)

    def timed(number: int) -> float:
        seconds = timer.timeit(number)
        if finish is None:
            return seconds
        started = time.perf_counter()
        finish()
        return seconds + time.perf_counter() - started

    timed(1)
    # The first calls fill caches; those after them say how many fit.
    calls = _WARM_UP_CALLS if timed(1) < _BURST_SECONDS / 10 else 1
    timed(calls)
    number = max(1, int(_BURST_SECONDS * calls / timed(calls)))
    return lambda: timed(number) / number


def rested(contestant: Contestant) -> Contestant:
    """Runs it when the threads of the one before sleep: OpenMP's spin for a while after their work."""

    def run() -> float:
        time.sleep(_REST_SECONDS)
        # Its own threads wake up outside of what counts.
        contestant()
        return contestant()

    return run
