"""Measure in pairs: contestants run in turns, so that a temporarily busy machine slows all of them alike."""

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
    """The median and the quartiles of some numbers."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Compute the spread of at least one value."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


Contestant = Callable[[], float]
"""A function that runs one call or a burst of calls, and returns the seconds of one call."""


def race(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[float]]:
    """Return the times of each contestant by round; rounds rotate the order, so that no position is an advantage."""
    names = list(contestants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(contestants[name]())
    return times


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return the spread of our times divided by theirs, pair by pair."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])


def burst(statement: str, *, finish: Callable[[], None] | None = None, **names: object) -> Contestant:
    """Return a contestant that repeats a statement for about a millisecond, at least once.

    `finish` waits for work that the statements only started; its time counts too.
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
    # The first calls fill caches; time only later calls to choose the number.
    calls = _WARM_UP_CALLS if timed(1) < _BURST_SECONDS / 10 else 1
    timed(calls)
    number = max(1, int(_BURST_SECONDS * calls / timed(calls)))
    return lambda: timed(number) / number


def rested(contestant: Contestant) -> Contestant:
    """Return a contestant that waits until other threads sleep: OpenMP threads spin for a while after their work."""

    def run() -> float:
        time.sleep(_REST_SECONDS)
        # Wake its own threads outside the measured time.
        contestant()
        return contestant()

    return run
