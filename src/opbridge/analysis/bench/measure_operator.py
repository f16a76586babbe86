"""Measure one operator in one framework: race it against its reference and the limits of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import Any

from opbridge.analysis.bench.machine_limits import copying, multiplying
from opbridge.analysis.bench.measurement import LARGE, SMALL, Measurement, OperatorTimings
from opbridge.analysis.bench.paired_timing import Contestant, Spread, burst, race, ratios, rested
from opbridge.analysis.bench.predicted_times import with_prediction
from opbridge.analysis.bench.references import Racer, operator, opponent
from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.arrays import Argument, Array, mismatch
from opbridge.verify.check.drivers import listed
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.waist.rules import evaluate_size

_SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
"""The sizes to try for the dimensions of a large input."""
_ENOUGH_BYTES = 64e6
"""A large call moves at least this many bytes, which exceeds the caches of most machines."""
_ENOUGH_SECONDS = 0.02
_TOO_LONG = 0.2
_LOOKS = 3
_WORTH_A_LIMIT = 1e6
"""The bytes or operations from which a limit is measured; in smaller calls, call overhead takes most of the time."""


class Measured(OperatorUnderTest):
    """An operator to measure, with the usual floating-point types preferred."""

    preferred = ("float32", "float64", "float16", "bfloat16")


def measurements(job: OperatorTimings, subject: OperatorUnderTest) -> Iterator[Measurement]:
    """Yield the measurements of a small input and, if the settings ask for it and there is one, of a large input."""
    subject.require_kernel()
    small = subject.case
    racer, note = _checked_opponent(job, subject, small)
    yield with_prediction(job, small, _measured(job, subject, small, SMALL, None, racer, note))
    found = _large(job, subject, small) if LARGE in job.settings.extents else None
    if found is not None:
        yield with_prediction(job, found[0], _measured(job, subject, *found, racer, note))


def _checked_opponent(job: OperatorTimings, subject: OperatorUnderTest, case: Case) -> tuple[Racer | None, str]:
    """Return the reference, or None and the reason; comparing functions that compute different things would mislead."""
    racer = opponent(job, subject)
    if racer is None:
        asked = ", ".join(str(reference) for reference in job.settings.references.get(job.operator, ()))
        return None, f"no reference can be called there: {asked}" if asked else ""
    if not subject.schema.returns:
        return racer, ""
    given = subject.arguments(case)
    made = operator(subject).outputs(subject, given)
    try:
        wrong = mismatch(racer.outputs(subject, given), made)
    except OpbridgeError:
        raise
    except Exception as error:  # whatever a function does with tensors it was not written for
        return None, f"{racer.name} does not take these tensors: {str(error).strip().partition(chr(10))[0]}"
    return (None, f"{racer.name} computes something else: it {wrong}") if wrong else (racer, "")


def _large(job: OperatorTimings, subject: OperatorUnderTest, small: Case) -> tuple[Case, str, int | None] | None:
    """Return a large input, where work dominates: all dimensions grow alike, or the largest of the samples."""
    if subject.form:
        fixed = job.settings.sizes.get((job.operator, job.framework))
        found = (_sized(subject, fixed), fixed) if fixed else _grown(subject)
        return None if found[0] is None else (found[0], LARGE, found[1])
    largest = max(subject.cases, key=lambda case: _moved(subject, subject.arguments(case), []))
    return None if largest is small else (largest, LARGE, None)


def _sized(subject: OperatorUnderTest, size: int) -> Case | None:
    return subject.varied("plain", sizes=repeat(size))


def _grown(subject: OperatorUnderTest) -> tuple[Case | None, int | None]:
    case, size = None, None
    for candidate in _SIZES:
        grown = _sized(subject, candidate)
        if grown is None:
            break
        try:
            moved, seconds = _first_look(subject, grown)
        except (OpbridgeError, MemoryError):
            break  # the operator refuses this size; the sizes before are large enough then
        if seconds > _TOO_LONG and case is not None:
            break
        case, size = grown, candidate
        if moved >= _ENOUGH_BYTES or seconds >= _ENOUGH_SECONDS:
            break
    return case, size


def _first_look(subject: OperatorUnderTest, case: Case) -> tuple[int, float]:
    """Return the bytes that a call moves and roughly its seconds: the minimum of several calls, against noise."""
    racer = operator(subject)
    given = subject.arguments(case)
    args, kwargs = racer.values(subject, given)
    outputs = [racer.driver.array(output) for output in _called(racer, args, kwargs)]
    seconds = []
    for _ in range(_LOOKS):
        started = time.perf_counter()
        racer.driver.finish(_called(racer, args, kwargs))
        seconds.append(time.perf_counter() - started)
    return _moved(subject, given, outputs), min(seconds)


def _called(racer: Racer, args: list[object], kwargs: dict[str, object]) -> list[object]:
    return listed(racer.function(*args, **kwargs))


def _measured(
    job: OperatorTimings,
    subject: OperatorUnderTest,
    case: Case,
    extent: str,
    size: int | None,
    racer: Racer | None,
    note: str,
) -> Measurement:
    given = subject.filled(case, job.settings.seed)
    ours = operator(subject)
    subject.announce(str(case))
    outputs = ours.outputs(subject, given)
    moved, flops = _moved(subject, given, outputs), _flops(subject, given)
    contestants = {"operator": _contestant(subject, ours, given)}
    if racer is not None:
        contestants["reference"] = _contestant(subject, racer, given)
    has_limit = max(moved, flops or 0) >= _WORTH_A_LIMIT
    tensors, operations = subject.settings.tensors, 0
    if has_limit:
        contestants["copy"] = copying(subject.driver, tensors, moved)
    if has_limit and flops:
        wide = any(output.dtype == "float64" for output in outputs)
        contestants["multiply"], operations = multiplying(subject.driver, tensors, "float64" if wide else "float32")
    if has_limit:
        contestants = {name: rested(contestant) for name, contestant in contestants.items()}
    times = race(contestants, job.settings.rounds)
    own = times["operator"]
    limits = _limits(times, flops or 0, operations)
    return Measurement(
        job.operator,
        subject.driver.name,
        job.settings.device,
        extent,
        str(case),
        Spread.of(own),
        moved,
        flops,
        size,
        reference=racer.name if racer else "",
        reference_time=Spread.of(times["reference"]) if racer else None,
        ratio=ratios(own, times["reference"]) if racer else None,
        bandwidth=_rate_of(moved, times.get("copy")),
        rate=_rate_of(operations, times.get("multiply")),
        reached=ratios([max(limit) for limit in limits], own) if limits else None,
        bound=_bound(limits),
        note=note,
    )


def _limits(times: Mapping[str, list[float]], flops: int, operations: int) -> list[tuple[float, float]]:
    """Return the least seconds that moving the bytes and doing the operations take, for each round."""
    copies = times.get("copy", [])
    multiplications = times.get("multiply", [0.0] * len(copies))
    return [
        (copy, flops * multiply / operations if operations else 0.0)
        for copy, multiply in zip(copies, multiplications, strict=True)
    ]


def _bound(limits: list[tuple[float, float]]) -> str:
    if not limits:
        return ""
    memory, arithmetic = (Spread.of(column).median for column in zip(*limits, strict=True))
    return "memory" if memory >= arithmetic else "arithmetic"


def _rate_of(amount: int, seconds: list[float] | None) -> Spread | None:
    return None if seconds is None else Spread.of([amount / one for one in seconds])


def _contestant(subject: OperatorUnderTest, racer: Racer, given: Mapping[str, Argument]) -> Contestant:
    function, args, kwargs = racer.driver.prepared(racer.function, *racer.values(subject, given))
    names: dict[str, Any] = {f"a{place}": value for place, value in enumerate(args)}
    call = ", ".join([*names, *(f"{name}=k_{name}" for name in kwargs)])
    names |= {f"k_{name}": value for name, value in kwargs.items()}
    # Keep the last result: a framework can only wait for a result to be finished.
    last: dict[str, object] = {}
    finish = partial(_finish, racer, last)
    return burst(f"last['result'] = f({call})", finish=finish, last=last, f=function, **names)


def _finish(racer: Racer, last: dict[str, object]) -> None:
    racer.driver.finish(listed(last["result"]))


def _flops(subject: OperatorUnderTest, given: Mapping[str, Argument]) -> int | None:
    rule = subject.spec.rules.flops
    return None if rule is None else int(evaluate_size(rule, subject.schema, subject.with_defaults(given)))


def _moved(subject: OperatorUnderTest, given: Mapping[str, Argument], outputs: list[Array]) -> int:
    """Count the bytes of every tensor once; a tensor that is written counts twice."""
    written = [given[argument.name] for argument in subject.schema.mutable_arguments if argument.name in given]
    return sum(map(_bytes, [*given.values(), *written, *outputs]))


def _bytes(value: Argument) -> int:
    if isinstance(value, tuple):
        return sum(map(_bytes, value))
    return value.nbytes if isinstance(value, Array) else 0
