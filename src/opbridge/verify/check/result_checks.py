"""The checks that compare results: values, dtypes, shapes, bounds, strides, vmap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.arrays import TOLERANCES, Argument, Array, largest_distance, mismatch
from opbridge.verify.check.drivers import NotHere, packed
from opbridge.verify.check.inputs import SIZES, Case
from opbridge.verify.check.kernel_declarations import is_finding
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import NOTHING_TO_COMPARE, REFUSALS, Failure, Skip, Unchecked, counted, first_line
from opbridge.verify.check.results import Status
from opbridge.waist.rules import Dimensions, FromKernel
from opbridge.waist.rules.dimensions import DOTS

_VARIATIONS = ("no elements", "one element", "odd", "large", "no dimensions")
_SIZES = ("plain", "one element", "odd", "large")
_BATCH = 3
_GUARD = 256
"""The number of bytes on both sides of an output that a kernel must not change."""
_FILLS = (0xA5, 0x5A)


def values(subject: OperatorUnderTest) -> str:
    """Compare the results with the reference."""
    if not subject.has_reference:
        raise Unchecked(NOTHING_TO_COMPARE)
    worst = 0.0
    compared = 0
    for case in ordinary(subject):
        given = subject.arguments(case)
        made, expected = subject.run(given), subject.expected(given)
        if expected is None:
            continue
        wrong = mismatch(made, expected)
        if wrong:
            raise Failure(f"{wrong}, for {case}; {subject.oracle.name} is the reference")
        worst = max(worst, largest_distance(made, expected))
        compared += has_numbers(expected)
    if not compared:
        raise Unchecked(f"nothing to compare with: {subject.oracle.name} has no such call, or gives NaN alone")
    return f"as {subject.oracle.name} on {counted(compared, 'input')}, largest error {worst:.1g}"


def has_numbers(arrays: Sequence[Array]) -> bool:
    """Return whether comparing these values proves anything; no elements, or NaN alone, prove nothing."""
    return any(array.values.size > 0 and not (array.is_float and np.isnan(array.values).all()) for array in arrays)


def dtypes(subject: OperatorUnderTest) -> str:
    """Compare the results in each element type with those in the most exact type."""
    right, absent, compared = [], [], 0
    for dtype in subject.facts.dtypes or (subject.dtype,):
        subject.dtypes_seen[dtype] = Status.FAILED
        case = subject.typed(subject.case, dtype)
        try:
            given = subject.arguments(case)
            made = subject.run(given)
        except NotHere:
            absent.append(dtype)
            subject.dtypes_seen[dtype] = Status.SKIPPED
            continue
        except OpbridgeError as error:
            raise Failure(f"refuses {dtype}: {first_line(error)}") from error
        expected = in_finest(subject, given, dtype)
        wrong = expected and mismatch(made, expected, TOLERANCES.get(dtype, 0.0))
        if wrong:
            raise Failure(f"in {dtype} it {wrong}, for {case}; running values are more exact in ob::opmath<T>")
        compared += expected is not None and has_numbers(expected)
        right.append(dtype)
        subject.dtypes_seen[dtype] = Status.PASSED
    said = ", ".join(right) + (f"; {subject.driver.name} has no {', '.join(absent)}" if absent else "")
    if not compared:
        subject.dtypes_seen.update(dict.fromkeys(right, Status.UNCHECKED))
        raise Unchecked(f"{said} ran, with {NOTHING_TO_COMPARE}" if right else said)
    return said


def in_finest(subject: OperatorUnderTest, given: Mapping[str, Argument], dtype: str) -> list[Array] | None:
    """Return the exact results for the same rounded inputs; None if nothing computes them."""
    if subject.oracle.is_exact:
        return subject.expected(given)
    finest = "float64" if "float" in dtype else "complex128"
    if dtype == finest or ("float" not in dtype and "complex" not in dtype) or finest not in subject.facts.dtypes:
        return subject.expected(given)
    made = subject.run(subject.in_precision(given, finest))
    return made if all(output.is_float for output in made) else None


def shapes(subject: OperatorUnderTest) -> str:
    """Compare the results for unusual sizes with the reference; a kernel may refuse some sizes, but not all."""
    if subject.form is None:
        raise Skip("only its samples give its sizes; `batch` or `shard` would tell how sizes vary")
    taken: list[str] = []
    refused: list[str] = []
    compared = 0
    for variation in _VARIATIONS:
        try:
            case = subject.varied(variation)
            wrong = subject.compare(case) if case else None
        except REFUSALS as error:
            if is_finding(error):
                raise
            _require_refusable(subject, variation, first_line(error))
            refused.append(f"{variation} ({first_line(error)})")
            # Odd numbers may be refused where even ones are not.
            case = subject.accepted(variation) if variation in SIZES else None
            wrong = subject.compare(case) if case else None
        if case and wrong:
            raise Failure(f"{wrong}, for {case}")
        compared += wrong is not None
        if case:
            taken.append(variation)
    if not taken:
        raise Failure(f"takes none of them: {'; '.join(refused)}")
    said = ", ".join(taken) + (f"; refused: {'; '.join(refused)}" if refused else "")
    if not compared and not says_its_outputs(subject):
        raise Unchecked(f"{said} ran, with {NOTHING_TO_COMPARE}")
    return said if compared else f"{said}; as `out` says, without a reference for values"


def _require_refusable(subject: OperatorUnderTest, variation: str, why: str) -> None:
    """Fail where the declaration promises what is refused."""
    rules = (subject.spec.rules.batch, subject.spec.rules.shard)
    if "elementwise" in rules and variation in ("one element", "odd", "large") and subject.parent is None:
        raise Failure(
            f"is declared elementwise and refuses '{variation}' sizes ({why}); elements do not depend on sizes"
        )


def says_its_outputs(subject: OperatorUnderTest) -> bool:
    """Return whether every call is compared with the `out` rule: shapes and element types."""
    rules = subject.spec.rules.out
    return bool(rules) and not any(isinstance(rule, FromKernel) for rule in rules)


def has_shapes(subject: OperatorUnderTest) -> bool:
    """Return whether the operator takes tensors."""
    return bool(subject.schema.tensor_arguments)


def bounds(subject: OperatorUnderTest) -> str:
    """Verify that the kernel writes every element of its outputs and nothing around them.

    Only NumPy is used, because there the caller can provide the memory of the outputs.
    """
    count = 0
    for case in subject.sized(_SIZES):
        written = [_guarded(subject, case, fill) for fill in _FILLS]
        for number, (first, second) in enumerate(zip(*written, strict=True)):
            left = (first == _FILLS[0]).all(axis=-1) & (second == _FILLS[1]).all(axis=-1)
            if left.any():
                which = f"output {number}" if len(written[0]) > 1 else "its output"
                raise Failure(
                    f"leaves {counted(int(left.sum()), 'element')} of {which} unwritten, the first at place "
                    f"{int(left.argmax())}, for {case}; correct the kernel's loop or the `out` rule"
                )
        count += 1
    if not count:
        raise Unchecked("no input with elements was accepted")
    return f"on {counted(count, 'input')}"


def has_guarded_outputs(subject: OperatorUnderTest) -> bool:
    """Return whether the framework is NumPy and the rules describe all outputs."""
    are_all = len(subject.spec.rules.out) == len(subject.schema.returns)
    return subject.driver.name == "numpy" and are_all and says_its_outputs(subject)


def _guarded(subject: OperatorUnderTest, case: Case, fill: int) -> list[np.ndarray[Any, Any]]:
    """Call the operator with outputs in memory filled with one byte; return their bytes, one row per element.

    Raises:
        Failure: The bytes around an output were changed.
    """
    given = subject.arguments(case)
    memory, outputs = [], []
    for made in subject.run(given):
        dtype = subject.driver.dtype(made.dtype)
        inside = int(np.prod(made.shape)) * dtype.itemsize
        block = np.full(inside + 2 * _GUARD, fill, np.uint8)
        memory.append(block)
        outputs.append(block[_GUARD : _GUARD + inside].view(dtype).reshape(made.shape))
    args, kwargs = packed(subject.schema, subject.driver.values(subject.schema, given))
    name = "out"
    while any(argument.name == name for argument in subject.schema.arguments):
        name += "_"  # the name that the operator gives it then
    subject.op.numpy(*args, **kwargs, **{name: outputs[0] if len(outputs) == 1 else tuple(outputs)})
    for block in memory:
        for side, guard in (("before", block[:_GUARD]), ("behind", block[-_GUARD:])):
            if (guard != fill).any():
                raise Failure(
                    f"writes {side} its output, for {case}; `opbridge check --sanitize address` names the line"
                )
    sizes = [output.itemsize for output in outputs]
    return [block[_GUARD:-_GUARD].reshape(-1, size) for block, size in zip(memory, sizes, strict=True)]


def strides(subject: OperatorUnderTest) -> str:
    """Call the operator with each tensor in each memory layout, and compare with contiguous tensors."""
    seen: dict[str, None] = {}
    for case in subject.sized(("plain", "odd")):
        given = subject.arguments(case)
        plain = subject.run(given)
        for name in subject.plain_tensors(case):
            if subject.schema.argument(name).mutable:
                continue
            for layout, tensor in subject.driver.layouts(given[name]):
                subject.announce(f"{case}, {name} {layout}")
                driver_values = {**subject.driver.values(subject.schema, given), name: tensor}
                outputs = subject.driver.call(subject.op, subject.schema, driver_values)
                wrong = mismatch([subject.driver.array(output) for output in outputs], plain)
                if wrong:
                    raise Failure(
                        f"{wrong} when {name} is {layout}, for {case}; read it by x(i, j) or x.stride(0), "
                        "or take ob::In<T>, which is contiguous"
                    )
                seen[layout] = None
    if not seen:
        raise Skip("its inputs have no other layout")
    return ", ".join(seen)


def has_layouts(subject: OperatorUnderTest) -> bool:
    """Return whether the framework has tensors that are not contiguous, and the operator takes tensors."""
    return subject.driver.has_layouts and bool(subject.schema.tensor_arguments)


def vmap(subject: OperatorUnderTest) -> str:
    """Compare a batched call with a loop over the batch, for all tensors together and for each alone."""
    names = _batchable(subject)
    groups = [names, *([name] for name in names if len(names) > 1)]
    for group in groups:
        stacked = subject.arguments(subject.case)
        parts = [_reseeded(subject, offset) for offset in range(_BATCH)]
        loops = []
        for part in parts:
            loops.append(subject.run({**stacked, **{name: part[name] for name in group}}))
        batch = {name: Array(np.stack([part[name].values for part in parts]), stacked[name].dtype) for name in group}
        subject.announce(f"{subject.case}, {_BATCH} of {', '.join(group)}")
        given = subject.driver.values(subject.schema, {**stacked, **batch})
        made = [
            subject.driver.array(output) for output in subject.driver.batch(subject.op, subject.schema, given, group)
        ]
        looped = [
            Array(np.stack([outputs[place].values for outputs in loops]), loops[0][place].dtype)
            for place in range(len(loops[0]))
        ]
        wrong = mismatch(made, looped)
        if wrong:
            raise Failure(f"{wrong} for a batch of {', '.join(group)}; correct `batch` of its declaration")
    return f"a batch of {' and of '.join(', '.join(group) for group in groups)}"


def has_batch_rule(subject: OperatorUnderTest) -> bool:
    """Return whether the operator and the framework support batches."""
    return (
        subject.driver.has_batches
        and subject.spec.rules.batch is not None
        and not subject.schema.mutable_arguments
        and bool(_batchable(subject))
    )


def _batchable(subject: OperatorUnderTest) -> list[str]:
    present = subject.plain_tensors(subject.case)
    rule = subject.spec.rules.batch
    if not isinstance(rule, Dimensions):
        return present
    names = (argument.name for argument in subject.schema.tensor_arguments)
    carries = {name for name, group in zip(names, rule.inputs, strict=True) if DOTS in group}
    return [name for name in present if name in carries]


def _reseeded(subject: OperatorUnderTest, offset: int) -> Any:
    return subject.filled(subject.case, subject.settings.seed + 1 + offset)


def ordinary(subject: OperatorUnderTest) -> Iterator[Case]:
    """Yield the usual inputs, and a case with odd sizes if sizes can vary."""
    yield from subject.cases
    if odd := subject.accepted("odd"):
        yield odd
