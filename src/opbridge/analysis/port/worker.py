"""Run the process that the kernels run in; it reports which kernel it calls, because a kernel may end the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from opbridge.analysis.port.differences import difference
from opbridge.analysis.port.trial import ORIGINAL, PORT, SIDES, Outcome, Run, Status, Trial
from opbridge.analysis.port.twins import Fill, Twinned, opened
from opbridge.verify.check.arrays import Array, arguments
from opbridge.verify.check.child_process import Say, serve
from opbridge.verify.check.drivers import NotHere
from opbridge.verify.check.inputs import RANGES
from opbridge.verify.check.kernel_declarations import is_finding
from opbridge.waist.manifest import OpSpec

_OTHERWISE = Fill(-1.0, 0x25)
_FILLS = {ORIGINAL: _OTHERWISE, PORT: Fill()}
"""Different values for each side, so that elements that neither kernel writes cannot agree by accident."""


def _work(jobs: list[Run | Trial], say: Say) -> None:
    warnings.simplefilter("ignore")
    pairs: dict[str, dict[str, Twinned]] = {}

    def twins(spec: OpSpec) -> dict[str, Twinned]:
        key = repr(spec)
        if key not in pairs:
            pairs[key] = opened(spec)
        return pairs[key]

    for number, job in enumerate(jobs):

        def begun(side: str, number: int = number) -> None:
            say(begun=number, side=side)

        with np.errstate(all="ignore"):
            if isinstance(job, Trial):
                begun(ORIGINAL)
                say(tried=number, **_try(job, twins(job.spec)[ORIGINAL]))
            else:
                outcome = _run(job, twins(job.spec), begun)
                say(outcome=None if outcome is None else outcome.fields(), number=number)


def _try(trial: Trial, original: Twinned) -> dict[str, object]:
    """Return whether the original accepts the input, and a range of numbers with finite results."""
    taken: dict[str, object] | None = None
    for low_high in RANGES:
        given = arguments(trial.case.with_range(low_high), trial.settings.seed)
        try:
            made = original.outputs(given, Fill())
            if taken is None and not all(map(Array.same_bits, made, original.outputs(given, _OTHERWISE))):
                return {"refusal": "it does not fill its output"}
        except Exception as error:  # whatever a wrong guess leads to
            return taken or {"refusal": str(error)}
        if all(np.isfinite(output.values).all() for output in made if output.is_float):
            return {"range": low_high}
        taken = taken or {"range": None}
    return taken or {}


def _run(run: Run, twins: dict[str, Twinned], begun: Callable[[str], None]) -> Outcome | None:
    """Compare both kernels on one input; return None if NumPy does not have the element type."""
    given = arguments(run.case, run.settings.seed)
    made: dict[str, list[Array]] = {}
    errors: dict[str, Exception] = {}
    for side in SIDES:
        begun(side)
        try:
            made[side] = twins[side].outputs(given, _FILLS[side])
        except NotHere:
            return None
        except Exception as error:  # whatever the kernel raises is the outcome
            errors[side] = error
    if findings := [side for side, error in errors.items() if is_finding(error)]:
        message = "\n".join(str(errors[side]) for side in findings)
        return run.outcome(Status.BROKEN, side=findings[0] if len(findings) == 1 else "both", message=message)
    if len(errors) == len(SIDES):
        return run.outcome(Status.REFUSED, message=str(errors[ORIGINAL]))
    if errors:
        ((side, refusal),) = errors.items()
        return run.outcome(Status.BROKEN, side=side, message=f"refuses inputs that the other accepts: {refusal}")
    parted = difference(made[ORIGINAL], made[PORT], run.settings.tolerance)
    if parted is None:
        return run.outcome(Status.SAME)
    writer = twins[PORT].writer(given, parted.output, parted.index)
    return run.outcome(Status.DIFFERS, difference=replace(parted, writer=writer))


if __name__ == "__main__":
    serve(_work)
