"""The table of checks: the function that each row runs, and the operators to which it applies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check import comparing, differentiating, precision, reading, robustness, sharding, specials
from opbridge.verify.check.gradients import Verdict
from opbridge.verify.check.manners import has_manners_of_its_own, manners
from opbridge.verify.check.model import INPUTS, MANNERS, SANITIZERS, Row, Status
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip, Unchecked


@dataclass(frozen=True)
class Check:
    """A check: its function, and whether it applies to an operator."""

    run: Callable[[OperatorUnderTest], str | Verdict]
    applies: Callable[[OperatorUnderTest], bool] = lambda _: True


def inputs(subject: OperatorUnderTest) -> str:
    """Find inputs for the operator; fail or skip if there are none."""
    subject.require_kernel()
    return f"{len(subject.cases)} to begin with, the first {subject.case}"


def exercise(subject: OperatorUnderTest) -> str:
    """Call the kernel in all the usual ways while a sanitizer watches."""
    inputs(subject)
    for check in (comparing.dtypes, comparing.shapes, comparing.strides, robustness.threads):
        try:
            check(subject)
        except (Failure, Skip, Unchecked, OpbridgeError):
            continue  # other rows report that
    return "no report"


TABLE: dict[str, Check] = {
    "bounds": Check(comparing.bounds, comparing.has_guarded_outputs),
    "reads": Check(reading.reads, reading.has_inputs_to_place),
    MANNERS: Check(manners, has_manners_of_its_own),
    "values": Check(comparing.values),
    "gradients": Check(differentiating.gradients, differentiating.can_differentiate),
    "opcheck": Check(differentiating.opcheck, differentiating.is_torch),
    "dtypes": Check(comparing.dtypes),
    "shapes": Check(comparing.shapes, comparing.has_shapes),
    "precision": Check(precision.precision, precision.is_numpys),
    "specials": Check(specials.specials, specials.is_numpys),
    "strides": Check(comparing.strides, comparing.has_layouts),
    "aliasing": Check(robustness.aliasing),
    "determinism": Check(robustness.determinism),
    "threads": Check(robustness.threads),
    "memory": Check(robustness.memory),
    "vmap": Check(comparing.vmap, comparing.has_batch_rule),
    "shard": Check(sharding.shard, sharding.has_shard_rule),
    INPUTS: Check(inputs),
    **{name: Check(exercise) for name in SANITIZERS},
}


def row(name: str, subject: OperatorUnderTest) -> Row | None:
    """Run one check and return its row; None if the check does not apply to this operator in this framework."""
    check = TABLE[name]
    started = time.perf_counter()
    answer = Row(subject.schema.full_name, subject.driver.name, name, Status.PASSED, "", subject.settings.device)
    try:
        if not check.applies(subject):
            return None
        said = check.run(subject)
        if isinstance(said, Verdict):
            status = Status.PASSED if said.passed else Status.FAILED
            answer = replace(answer, status=status, message=said.sentence, curves=said.curves)
        else:
            answer = replace(answer, message=said)
    except Skip as reason:
        answer = replace(answer, status=Status.SKIPPED, message=str(reason))
    except Unchecked as reason:
        answer = replace(answer, status=Status.UNCHECKED, message=str(reason))
    except Failure as failure:
        answer = replace(answer, status=Status.FAILED, message=str(failure))
    except Exception as error:  # report whatever the operator raises in the row
        text = str(error).strip() or type(error).__name__
        answer = replace(answer, status=Status.FAILED, message=f"fails: {text}")
    seen = tuple(subject.dtypes_seen.items()) if name == "dtypes" else ()
    return replace(answer, seconds=time.perf_counter() - started, dtypes=seen)
