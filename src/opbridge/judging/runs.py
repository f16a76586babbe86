"""What is known of an answer's process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opbridge.judging.jobs import Trial
from opbridge.judging.model import Reason

ON_GPU = "judge it on a GPU or an NPU"
"""What else there is to do."""


@dataclass
class Run:
    """What the answer's process said, and how it ended."""

    built: bool = False
    raised: dict[str, Any] | None = None
    ran: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    """Trials that would have taken too long."""
    tampering: list[dict[str, Any]] = field(default_factory=list)
    muted: bool = False
    vast: dict[str, Any] | None = None
    """What a call at sizes that are too large raised."""
    at: object = "starting"
    done: bool = False
    end: str = ""
    log: str = ""
    timed_out: bool = False

    def hear(self, said: dict[str, Any]) -> None:
        self.at = said.get("begun", self.at)
        self.built |= "built" in said
        self.muted |= "muted" in said
        self.done |= "done" in said
        self.raised = said.get("raised", self.raised)
        self.left_out |= {said["left_out"]} if "left_out" in said else set()
        self.vast = said.get("vast", self.vast)
        self.tampering += said.get("tampering", [])
        for kind, kept in (("ran", self.ran), ("failed", self.failed)):
            if kind in said:
                kept[said[kind]] = said

    def called(self, trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
        return tuple(trial for trial in trials if trial.number not in self.left_out)


def reason_at(trial: Trial, check: str, message: str, to_do: str, place: str = "") -> Reason:
    return Reason(check, message, to_do, place, trial.shown, trial.seed)
