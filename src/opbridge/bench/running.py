"""Measures in processes of their own, one framework after the other; a kernel that ends its process ends no other's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opbridge.bench.model import Measurement, OperatorTimings, Problem
from opbridge.check.child import Child
from opbridge.errors import OpbridgeError, ToolchainError

_WORKER = "opbridge.bench.worker"
_PATIENCE = 600.0
"""Seconds for one input."""

Told = Callable[[Measurement | Problem], None]


def run(jobs: Sequence[OperatorTimings], on_result: Told) -> None:
    """Works off the jobs of one framework, in as many processes as they end."""
    left = list(jobs)
    while left:
        left = _run_some(left, on_result)


def _run_some(jobs: list[OperatorTimings], on_result: Told) -> list[OperatorTimings]:
    """One process, as far as it gets; what is then left for another."""
    begun: int | None = None
    asked = ""
    with Child(_WORKER, jobs, {}, _PATIENCE) as child:
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
        raise ToolchainError(f"{jobs[0].framework} cannot be started in a process of its own: {how}\n  {said_last}")
    on_what = f", on {asked}" if asked else ""
    cure = "; `opbridge check` says more"
    on_result(Problem(jobs[begun].operator, jobs[begun].framework, f"{how}{on_what}{cure}"))
    return jobs[begun + 1 :]
