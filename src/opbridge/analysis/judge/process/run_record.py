"""Record what is known about the process of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opbridge.analysis.judge.judgement import Reason
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.record_channel import Records

ON_GPU = "judge it on a GPU or an NPU"
"""The advice for what the twins cannot decide."""


@dataclass
class Run:
    """The messages from the process of an answer, and how it ended."""

    built: bool = False
    raised: dict[str, Any] | None = None
    ran: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    """The trials that would have taken too long."""
    records: Records | None = None
    """What the twin recorded of the calls; None for a device whose twin cannot."""
    tampering: list[dict[str, Any]] = field(default_factory=list)
    muted: bool = False
    vast: dict[str, Any] | None = None
    """The error of the call at sizes that are too large to compute."""
    at: object = "starting"
    done: bool = False
    end: str = ""
    nonsense: str = ""
    """A message of the process that no worker sends."""
    log: str = ""
    timed_out: bool = False

    def hear(self, said: dict[str, Any]) -> None:
        """Record a message from the process."""
        self.at = said.get("begun", self.at)
        self.built |= "built" in said
        self.muted |= "muted" in said
        self.done |= "done" in said
        self.raised = said.get("raised", self.raised)
        self.vast = said.get("vast", self.vast)
        self.tampering += said.get("tampering", [])
        for kind, kept in (("ran", self.ran), ("failed", self.failed)):
            if kind in said:
                kept[said[kind]] = said

    def operations(self, trial: Trial) -> float:
        """Return the most operations that PyTorch's operators did in a call of a trial.

        An operator in a thread, or below a guard, is counted by the twin alone.
        """
        calls = self.records.calls if self.records else ()
        recorded = (call.operations for call in calls if call.name in (trial.record, trial.writes_record))
        return max(float(self.ran[trial.number]["operations"]), *recorded, 0.0)

    def called(self, trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
        """Return the trials that were not left out."""
        return tuple(trial for trial in trials if trial.number not in self.left_out)


def reason_at(trial: Trial, check: str, message: str, to_do: str, place: str = "") -> Reason:
    """Return a reason that names the inputs and seed of a trial."""
    return Reason(check, message, to_do, place, trial.shown, trial.seed)
