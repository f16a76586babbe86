"""Runs inputs in processes of their own; what ends one is an outcome, and the next goes on with the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from opbridge.check.child import Child
from opbridge.errors import ToolchainError
from opbridge.port.model import Outcome, Run, Status, Trial

_WORKER = "opbridge.port.worker"
_MOST_CRASHES = 3
_LINES = 5
"""Of what the process has said last."""


def run(runs: Sequence[Run]) -> Iterator[Outcome]:
    """One for each input, in their order; after three that end the process the rest is left."""
    for number, said in _answers(runs):
        if "outcome" in said:
            if said["outcome"] is not None:
                yield Outcome.of(said["outcome"])
        else:
            yield runs[number].outcome(Status.BROKEN, side=said["side"], message=said["end"])


def first_taken(trials: Sequence[Trial]) -> tuple[Trial | None, str]:
    """The first that the original takes, and why it did not take the first of all."""
    refusal = ""
    with closing(_answers(trials)) as answers:
        for number, said in answers:
            if "range" in said:
                low_high = said["range"]
                return replace(trials[number], low_high=low_high and (low_high[0], low_high[1])), refusal
            refusal = refusal or said.get("refusal", said.get("end", ""))
    return None, refusal


def _answers(jobs: Sequence[Run | Trial]) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """What the worker says of each job; of one that it dies in, how: {"end": ..., "side": ...}."""
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
            raise ToolchainError(f"the kernels cannot be loaded in a process of their own: {how}\n{log}")
        crashes += 1
        ended = "\n".join((how or "the process ends, as by exit()", *log.strip().splitlines()[-_LINES:]))
        yield done, {"end": ended, "side": side}
        done += 1
