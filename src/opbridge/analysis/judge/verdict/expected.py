"""Run the process of a reference, and record what it computed and left out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from opbridge.analysis.judge.process.jobs import ReferenceJob, Trial
from opbridge.analysis.judge.process.prepared import NO_DEVICE
from opbridge.analysis.judge.task.input_numbers import AS_DRAWN
from opbridge.analysis.judge.task.shapes import Plan
from opbridge.base.errors import InputError, ToolchainError, UnsupportedError
from opbridge.verify.check.child_process import NO_ANSWER, Child
from opbridge.verify.check.forked_processes import Forks

_LONGEST_REFERENCE = 20
"""The most time of a reference at all sizes, in timeouts; each size has one."""
_REFERENCE = "opbridge.analysis.judge.process.reference_worker"


@dataclass(frozen=True)
class Expected:
    """The trials of a reference, whose outputs are files in its folder."""

    trials: tuple[Trial, ...]
    left_out: tuple[str, ...]
    vast: Trial | None
    """The trial at the published sizes, if they are too large to compute."""


def expected_of(job: ReferenceJob, timeout: float, forks: Forks) -> Expected:
    """Run the reference at all sizes; raise InputError if it is a bad task."""
    trials: list[Trial] = []
    left_out: dict[str, list[str]] = {}
    vast: Trial | None = None
    deadline = time.monotonic() + _LONGEST_REFERENCE * timeout
    with Child(_REFERENCE, [job], NO_DEVICE, timeout, forks.start) as child:
        done = False
        for said in child.messages():
            if time.monotonic() > deadline:
                raise InputError(f"{job.reference} takes more than {_LONGEST_REFERENCE * timeout:g} s in all")
            done |= "done" in said
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "bad_task" in said:
                raise InputError(f"{job.reference} is a bad task: {said['bad_task']}")
            if "left_out" in said:
                plan, reason = said["left_out"]
                left_out.setdefault(reason, []).append(plan)
            if "vast" in said:
                vast = _trial(said["vast"], job.plans)
            if "trial" in said:
                trials.append(_trial(said["trial"], job.plans))
        how = child.end()
        if not trials and how.startswith(NO_ANSWER):
            left_out[f"the reference gives {how}"] = []
        elif not done and not trials:
            raise ToolchainError(f"the process of the reference ends early: {how}\n{child.log()[-2000:]}")
    return Expected(tuple(trials), tuple(_said_once(*one) for one in left_out.items()), vast)


def _said_once(reason: str, plans: list[str]) -> str:
    if not plans:
        return reason
    return f"{plans[0]}{f' and {len(plans) - 1} others' if plans[1:] else ''}: {reason}"


def _trial(said: dict[str, Any], known: tuple[Plan, ...]) -> Trial:
    operators = tuple(said["operators"])
    return Trial(
        said["number"],
        known[said["plan"]],
        said["seed"],
        said["inputs"],
        operators,
        said.get("is_constant", False),
        said.get("elements", 0),
        said.get("numbers", AS_DRAWN),
        said.get("operations", 0.0),
    )
