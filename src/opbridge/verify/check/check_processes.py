"""Run checks in separate processes; if one dies or hangs, its row fails and another process continues with the rest."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from opbridge.base.errors import ToolchainError
from opbridge.verify.check.child_process import NO_ANSWER, Child, Starting
from opbridge.verify.check.results import INPUTS, MANNERS, SANITIZERS, OperatorChecks, Row, Status
from opbridge.verify.check.sanitizers import Report, environment, reports

_MOST_CRASHES = 3
"""The number of crashes of one operator in one framework after which its other checks are skipped."""
_WORKER = "opbridge.verify.check.worker"
_PLACE_OF_CRASH = re.compile(r"^.* crashed \(\w+ at (.+:\d+)\); to find", re.MULTILINE)
"""The place of a crash in the message that the dying process prints."""


@dataclass(frozen=True)
class Begun:
    """The check that a worker was running when it ended."""

    job: int
    check: str
    input: str
    started: float


def run(
    jobs: Sequence[OperatorChecks], on_row: Callable[[Row], None], stop: Event, sanitizer: str | None = None
) -> None:
    """Run all jobs; start another worker after each one that ends early."""
    left = list(jobs)
    crashes: dict[str, int] = {}
    while left and not stop.is_set():
        left = _run_some(left, on_row, crashes, stop, sanitizer)


def build(jobs: Sequence[OperatorChecks], sanitizer: str) -> None:
    """Build the kernels for a sanitizer, in a process where the sanitizer does not watch the compiler.

    Raises:
        ToolchainError: The kernels cannot be built with the sanitizer.
    """
    nothing = [replace(job, checks=()) for job in jobs]
    starting = Starting(f"building the kernels for -fsanitize={sanitizer}", patience=2)
    variables = environment(sanitizer, preload=False)
    with Child(_WORKER, nothing, variables, jobs[0].settings.patience, starting=starting) as child:
        for _ in child.messages():
            pass
        if end := child.end():
            raise ToolchainError(f"the kernels cannot be built with -fsanitize={sanitizer}: {end}\n{child.log()}")


class _Heard:
    """The messages of a worker so far, in the order in which they arrived."""

    def __init__(self, jobs: Sequence[OperatorChecks]) -> None:
        self._jobs = jobs
        self._told: set[tuple[int, str]] = set()
        self.begun: Begun | None = None
        """The check that has begun but has no row yet."""
        self.last_row: Row | None = None
        self.left: list[OperatorChecks] = []
        """The jobs that the worker has returned unprocessed."""
        self.is_ready = False

    @property
    def is_all(self) -> bool:
        return all((number, name) in self._told for number, job in enumerate(self._jobs) for name in job.checks)

    def take(self, said: dict[str, Any]) -> Row | None:
        """Process a message, and return its row if it has one.

        Raises:
            ToolchainError: The worker cannot run its jobs.
        """
        if "ready" in said:
            self.is_ready = True
        elif "refused" in said:
            raise ToolchainError(said["refused"])
        elif "begun" in said:
            self.begun = Begun(said["begun"], said["check"], "", time.perf_counter())
        elif "input" in said and self.begun:
            self.begun = replace(self.begun, input=said["input"])
        elif "left" in said:
            self.left = list(self._jobs[said["left"] :])
        elif "row" in said and self.begun:
            return self._row(self.begun, said)
        return None

    def _row(self, begun: Begun, said: dict[str, Any]) -> Row | None:
        self._told.add((begun.job, begun.check))
        if said["last"]:
            self._told.update((begun.job, name) for name in self._jobs[begun.job].checks)
        self.begun = None
        self.last_row = Row.of(said["row"]) if said["row"] else None
        return self.last_row


def _run_some(
    jobs: list[OperatorChecks],
    on_row: Callable[[Row], None],
    crashes: dict[str, int],
    stop: Event,
    sanitizer: str | None,
) -> list[OperatorChecks]:
    """Run one process until it ends, and return the jobs left for another."""
    heard = _Heard(jobs)
    variables = environment(sanitizer, preload=True) if sanitizer else {}
    starting = Starting(f"preparing {jobs[0].framework} for the checks")
    with Child(_WORKER, jobs, variables, jobs[0].settings.patience, starting=starting) as child:
        for said in child.messages(stop):
            row = heard.take(said)
            if row and not sanitizer:
                on_row(row)
        if stop.is_set():
            return []
        how, log = child.end(), child.log()
    found = reports(log) if sanitizer else []
    begun = heard.begun
    if sanitizer and heard.last_row and not (how and begun):
        on_row(_with_report(heard.last_row, found))
    if begun is not None:
        on_row(_crashed(jobs[begun.job], begun, how or "the process ends with exit code 0, as by exit()", found, log))
        return [*_rest(jobs[begun.job], begun.check, crashes, on_row), *jobs[begun.job + 1 :]]
    if not heard.left and how and not heard.is_all:
        raise ToolchainError(_no_start(jobs[0], how, log, heard.is_ready))
    return heard.left


def _rest(
    job: OperatorChecks, crashed: str, crashes: dict[str, int], on_row: Callable[[Row], None]
) -> list[OperatorChecks]:
    """Return the operator's checks after one that ended its process; none after too many crashes."""
    crashes[job.operator] = crashes.get(job.operator, 0) + 1
    rest = () if crashed == INPUTS else job.checks[job.checks.index(crashed) + 1 :]
    if rest and crashes[job.operator] >= _MOST_CRASHES:
        reason = f"skipped: {_MOST_CRASHES} checks before it ended their process; fix those first"
        on_row(Row(job.operator, job.framework, rest[0], Status.SKIPPED, reason, job.settings.device))
        return []
    return [replace(job, checks=rest)] if rest else []


def _crashed(job: OperatorChecks, begun: Begun, how: str, found: list[Report], log: str) -> Row:
    if place := _PLACE_OF_CRASH.search(log):
        how += f" at {place[1]}"
    message = f"{how}, on {begun.input}" if begun.input else how
    if found:
        message = str(found[0])
    elif how.startswith(NO_ANSWER):
        message += "; does a loop never end, or a lock never open? --timeout waits longer"
    elif how.startswith("the process ends"):
        message += "; report errors by OB_CHECK or ob::fail, which return to the caller"
    elif how.startswith("the process dies") and begun.check not in SANITIZERS:
        message += "; `opbridge check --sanitize address` may name the line"
    # Before the first row, only the kernel can have ended the process.
    check = MANNERS if begun.check == INPUTS and MANNERS in job.checks else begun.check
    seconds = time.perf_counter() - begun.started
    return Row(job.operator, job.framework, check, Status.FAILED, message, job.settings.device, seconds)


def _with_report(row: Row, found: list[Report]) -> Row:
    return replace(row, status=Status.FAILED, message=str(found[0])) if found else row


def _no_start(job: OperatorChecks, how: str, log: str, ready: bool) -> str:
    what = f"{job.framework} cannot be started" if ready else f"{job.operator} cannot be loaded"
    said = "\n  ".join(log.strip().splitlines()[-5:])
    return f"{what} in a separate process: {how}\n  {said}"
