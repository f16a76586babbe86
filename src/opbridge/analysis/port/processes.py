"""Run inputs in separate processes: a crash is an outcome, and a new process continues with the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from opbridge.analysis.port.trial import Outcome, Run, Status, Trial
from opbridge.base.errors import ToolchainError
from opbridge.verify.check.child_process import Child

_WORKER = "opbridge.analysis.port.worker"
_MOST_CRASHES = 3
_LINES = 5
"""The number of last output lines of a process to report."""


def run(runs: Sequence[Run]) -> Iterator[Outcome]:
    """Yield one outcome per input, in order; after three crashes, skip the rest."""
    for number, said in _answers(runs):
        if "outcome" in said:
            if said["outcome"] is not None:
                yield Outcome.of(said["outcome"])
        else:
            yield runs[number].outcome(Status.BROKEN, side=said["side"], message=said["end"])


def first_taken(trials: Sequence[Trial]) -> tuple[Trial | None, str]:
    """Return the first trial that the original accepts (None if there is none), and why it refused the first of all."""
    refusal = ""
    with closing(_answers(trials)) as answers:
        for number, said in answers:
            if "range" in said:
                low_high = said["range"]
                return replace(trials[number], low_high=low_high and (low_high[0], low_high[1])), refusal
            refusal = refusal or said.get("refusal", said.get("end", ""))
    return None, refusal


def _answers(jobs: Sequence[Run | Trial]) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield the number of each job and the answer of the worker; after a crash, {"end": how, "side": which}."""
    done = crashes = 0
    while done < len(jobs) and crashes < _MOST_CRASHES:
        first = done
        side = None
        with Child(_WORKER, jobs[first:], {}, jobs[0].settings.patience) as child:
            for said in child.messages():
                side = said.get("side", side)
                if "tried" in said or "outcome" in said:
                    yield done, said
                    done += 1
            how, log = child.end(), child.log()
        if done == len(jobs):
            return
        if side is None:
            raise ToolchainError(f"the kernels cannot be loaded in a separate process: {how}\n{log}")
        crashes += 1
        ended = "\n".join((how or "the process ends, as by exit()", *log.strip().splitlines()[-_LINES:]))
        yield done, {"end": ended, "side": side}
        done += 1
