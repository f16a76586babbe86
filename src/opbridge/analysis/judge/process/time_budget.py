"""Skip slow calls that show little beyond the other calls."""

from __future__ import annotations

from typing import Any

from opbridge.analysis.judge.judgement import ENDLESS
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.task.input_numbers import OF_BOTH_SIGNS

_FOR_A_LONG_SIZE = 40.0
"""Processor seconds; without this limit, one slow long size would lose the results of all others."""
_FOR_MORE_NUMBERS = 10.0
"""Processor seconds for trials with other numbers; those of both signs show the most and are never skipped."""
_HARDLY_ANY = 8
"""After a launch timed out, try only trials with at most 1/8 of its elements."""


class Pace:
    """Predict how long calls take, from earlier calls of the same answer."""

    def __init__(self, trials: tuple[Trial, ...]) -> None:
        self._trials = trials
        self._seconds_per_element: list[float] = []
        self._too_many = float("inf")
        """The fewest elements with which a launch exceeded its time."""
        self._running: tuple[Trial, float] | None = None
        """The trial that may run, and the processor seconds that were used before."""

    def allows(self, number: int, used: float) -> bool:
        """Return whether the answer, which waits and has used so much processor time, may run a trial now."""
        trial = next(trial for trial in self._trials if trial.number == number)
        if self._running is not None:
            self.has_run(self._running[0], used - self._running[1])
        may = self.has_time_for(trial)
        self._running = (trial, used) if may else None
        return may

    def hears(self, said: dict[str, Any]) -> None:
        """Record a failed trial that an answer reports."""
        if "failed" in said and self._running is not None:
            self.has_failed(self._running[0], said["message"])
            self._running = None

    def has_run(self, trial: Trial, seconds: float) -> None:
        """Record the processor seconds of a trial."""
        self._seconds_per_element.append(seconds / max(trial.elements, 1))

    def has_failed(self, trial: Trial, message: str) -> None:
        """Record a failed trial; only a launch that exceeded its time matters."""
        if f"[{ENDLESS}]" in message:
            self._too_many = min(self._too_many, trial.elements)

    def has_time_for(self, trial: Trial) -> bool:
        """Return whether a trial is worth its predicted time."""
        if trial.elements > self._too_many / _HARDLY_ANY:
            return False
        foreseen = min(self._seconds_per_element, default=0.0) * trial.elements
        if trial.plan.is_long:
            return foreseen < _FOR_A_LONG_SIZE
        return foreseen < _FOR_MORE_NUMBERS or trial.numbers == OF_BOTH_SIGNS or self._is_first(trial)

    def _is_first(self, trial: Trial) -> bool:
        return not any(other.number < trial.number and other.plan == trial.plan for other in self._trials)
