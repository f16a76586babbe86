"""The table of checks: the function that each row runs, and the operators to which it applies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check import (
    behavior_checks,
    gradient_checks,
    precision,
    reads,
    result_checks,
    sharding,
    special_values,
)
from opbridge.verify.check.numeric_derivatives import Verdict
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip, Unchecked
from opbridge.verify.check.process_state import has_manners_of_its_own, manners
from opbridge.verify.check.results import INPUTS, MANNERS, SANITIZERS, Row, Status


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
    for check in (result_checks.dtypes, result_checks.shapes, result_checks.strides, behavior_checks.threads):
        try:
            check(subject)
        except (Failure, Skip, Unchecked, OpbridgeError):
            continue  # other rows report that
    return "no report"


TABLE: dict[str, Check] = {
    "bounds": Check(result_checks.bounds, result_checks.has_guarded_outputs),
    "reads": Check(reads.reads, reads.has_inputs_to_place),
    MANNERS: Check(manners, has_manners_of_its_own),
    "values": Check(result_checks.values),
    "gradients": Check(gradient_checks.gradients, gradient_checks.can_differentiate),
    "opcheck": Check(gradient_checks.opcheck, gradient_checks.is_torch),
    "dtypes": Check(result_checks.dtypes),
    "shapes": Check(result_checks.shapes, result_checks.has_shapes),
    "precision": Check(precision.precision, precision.is_numpys),
    "specials": Check(special_values.specials, special_values.is_numpys),
    "strides": Check(result_checks.strides, result_checks.has_layouts),
    "aliasing": Check(behavior_checks.aliasing),
    "determinism": Check(behavior_checks.determinism),
    "threads": Check(behavior_checks.threads),
    "memory": Check(behavior_checks.memory),
    "vmap": Check(result_checks.vmap, result_checks.has_batch_rule),
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
