"""Measure in separate processes, one framework after the other, so that a crash ends one measurement only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from opbridge.analysis.bench.measurement import Measurement, OperatorTimings, Problem
from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.verify.check.child_process import Child, Starting

_WORKER = "opbridge.analysis.bench.worker"
_PATIENCE = 600.0
"""The time limit of one input, in seconds."""

Told = Callable[[Measurement | Problem], None]
Predicted = Mapping[str, Mapping[str, float]]
"""Known predictions in seconds, by operator and input."""


def run(jobs_of: Sequence[Sequence[OperatorTimings]], on_result: Told, predicted: Predicted) -> None:
    """Run the jobs of each framework, and start a new process after each crash; `predicted` grows with the results.

    The processes import their frameworks in parallel, which takes longer than most measurements. They measure one
    at a time, so that none disturbs another.
    """
    with ExitStack() as stack:
        children = [stack.enter_context(_started(jobs)) for jobs in jobs_of]
        for child in children:
            _wait_until_imported(child)
        for jobs, child in zip(jobs_of, children, strict=True):
            left = _measured(child, jobs, on_result, predicted)
            while left:
                with _started(left) as another:
                    left = _measured(another, left, on_result, predicted)


def _started(jobs: Sequence[OperatorTimings]) -> Child:
    starting = Starting(f"preparing {jobs[0].framework} for measurements", until="imported")
    return Child(_WORKER, jobs, {}, _PATIENCE, is_told_more=True, starting=starting)


def _wait_until_imported(child: Child) -> None:
    """Wait until the child has imported its framework or ended; `_measured` reports an early end."""
    for said in child.messages():
        if "imported" in said:
            return


def _measured(
    child: Child, jobs: Sequence[OperatorTimings], on_result: Told, predicted: Predicted
) -> Sequence[OperatorTimings]:
    """Report what one process measures; return the jobs after the one that ended it, or none."""
    begun: int | None = None
    asked = ""
    child.tell({name: dict(known) for name, known in predicted.items()})
    for said in child.messages():
        if "refused" in said:
            raise (ToolchainError if said["toolchain"] else OpbridgeError)(said["refused"])
        if "begun" in said:
            begun, asked = said["begun"], ""
        elif "input" in said:
            asked = said["input"]
        elif "measured" in said:
            on_result(Measurement.of(said["measured"]))
        elif "problem" in said and begun is not None:
            on_result(Problem(jobs[begun].operator, jobs[begun].framework, said["problem"]))
    how, log = child.end(), child.log()
    if not how:
        return []
    if begun is None:
        said_last = "\n  ".join(log.strip().splitlines()[-5:])
        raise ToolchainError(f"{jobs[0].framework} cannot be started in a separate process: {how}\n  {said_last}")
    on_what = f", on {asked}" if asked else ""
    cure = "; `opbridge check` says more"
    on_result(Problem(jobs[begun].operator, jobs[begun].framework, f"{how}{on_what}{cure}"))
    return jobs[begun + 1 :]
