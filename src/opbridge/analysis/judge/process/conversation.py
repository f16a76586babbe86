"""Talk with the process of an answer: hand over the trials, decide which of them it runs, record what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.protocol import Protocol
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.process.time_budget import Pace
from opbridge.base.errors import UnsupportedError
from opbridge.verify.check.child_messages import NonsenseError
from opbridge.verify.check.child_process import NO_ANSWER, Child

Given = Callable[[], tuple[tuple[Trial, ...], Trial | None]]
"""A function that hands the inputs over and returns the trials; it waits for the reference."""


class Conversation:
    """The conversation of the judge with the process of an answer. Nothing that the process says is trusted."""

    def __init__(self, child: Child, given: Given) -> None:
        self.run = Run()
        self._child, self._given = child, given
        self._protocol, self._pace = Protocol(), Pace(())

    def heard(self) -> Iterator[str]:
        """Yield the kind of each message, after answering it; stop at the first that no worker would send.

        Raises:
            UnsupportedError: This machine cannot confine the process.
        """
        try:
            for said in self._child.messages():
                kind = self._protocol.check(said)
                self._answer(kind, said)
                self._pace.hears(said)
                self.run.hear(said)
                yield kind
            self.run.end = self._child.end()
        except NonsenseError as error:
            self.run.nonsense = str(error)
            self._child.stop()
        self.run.log = self._child.log()
        self.run.timed_out = self.run.end.startswith(NO_ANSWER)

    def _answer(self, kind: str, said: dict[str, Any]) -> None:
        if kind == "refused":
            raise UnsupportedError(said["refused"])
        if kind == "built":
            self._hand_over()
        if kind == "asks":
            self._let_run(said["asks"])

    def _hand_over(self) -> None:
        trials, vast = self._given()
        self._pace = Pace(trials)
        self._protocol.hands_over([trial.number for trial in trials], vast.number if vast else None)
        self._child.tell((trials, vast))

    def _let_run(self, number: int) -> None:
        """Let the process, which waits meanwhile, run a trial, or leave it out if it would take too long."""
        may = self._pace.allows(number, self._child.processor_seconds())
        if may:
            self._protocol.allows(number)
        else:
            self.run.left_out.add(number)
        self._child.tell(may)
