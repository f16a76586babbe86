"""Which calls are left out, for they would take long and show little that others do not."""

from __future__ import annotations

from opbridge.judging.drawing import OF_BOTH_SIGNS
from opbridge.judging.jobs import Trial
from opbridge.judging.model import ENDLESS

_FOR_A_LONG_SIZE = 40.0
"""Seconds of processor time; without this, one long size that takes too long would cost all that is known of others."""
_FOR_MORE_NUMBERS = 10.0
"""Where those of both signs tell most."""
_HARDLY_ANY = 8
"""What part of elements that take too long is worth another try."""


class Pace:
    """How long calls take, by what those before them took of the same answer."""

    def __init__(self, trials: tuple[Trial, ...]) -> None:
        self._trials = trials
        self._seconds_per_element: list[float] = []
        self._too_many = float("inf")
        """Elements that a launch had not done when it was ended for its time."""

    def has_run(self, trial: Trial, seconds: float) -> None:
        self._seconds_per_element.append(seconds / max(trial.elements, 1))

    def has_failed(self, trial: Trial, message: str) -> None:
        if f"[{ENDLESS}]" in message:
            self._too_many = min(self._too_many, trial.elements)

    def has_time_for(self, trial: Trial) -> bool:
        if trial.elements > self._too_many / _HARDLY_ANY:
            return False
        foreseen = min(self._seconds_per_element, default=0.0) * trial.elements
        if trial.plan.is_long:
            return foreseen < _FOR_A_LONG_SIZE
        return foreseen < _FOR_MORE_NUMBERS or trial.numbers == OF_BOTH_SIGNS or self._is_first(trial)

    def _is_first(self, trial: Trial) -> bool:
        return not any(other.number < trial.number and other.plan == trial.plan for other in self._trials)
