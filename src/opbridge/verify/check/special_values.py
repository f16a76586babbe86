"""The check `specials`: NaN, infinities, denormal numbers and negative zero.

Only a reference can say whether an operator should pass on a NaN. Without one, a kernel is compared with
itself: float32 with float64, one place of a tensor with another, and results after special values with those
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from opbridge.base.errors import OpbridgeError
from opbridge.verify.check.arrays import Array, mismatch
from opbridge.verify.check.compare_precisions import compare_precisions, kinds
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import NOTHING_TO_COMPARE, Failure, Skip, Unchecked, counted

_SPECIALS: Mapping[str, float] = {"NaN": np.nan, "infinity": np.inf, "-infinity": -np.inf, "-0.0": -0.0}
_DENORMALS: Mapping[str, float] = {"float64": 1e-310, "float32": 1e-40, "float16": 1e-7, "bfloat16": 1e-40}
_COMPARED = ("float32", "float64")
_FILL = 0.5
_SAME = 1e-3
"""How far results for equal elements may differ, because vector code and the remaining elements may differ."""


def specials(subject: OperatorUnderTest) -> str:
    """Call the kernel with each special value in each input, and compare its results."""
    case = subject.accepted("odd") or subject.case
    dtypes = [name for name in _DENORMALS if name in (subject.facts.dtypes or (subject.dtype,))]
    names = [name for name in subject.plain_tensors(case) if "float" in subject.arguments(case)[name].dtype]
    if not dtypes or not names:
        raise Skip("its inputs are not floats")
    ordinary = subject.arguments(subject.typed(case, dtypes[0]))
    before = subject.run(ordinary)
    notes: list[str] = []
    compared = sum(
        _hold(subject, case, dtypes, name, what, notes) for name in names for what in (*_SPECIALS, "a denormal number")
    )
    again = subject.run(ordinary)
    if wrong := mismatch(again, before):
        raise Failure(f"{wrong} for {case} after calls with special values than before; keep no state between calls")
    if not compared:
        raise Unchecked(f"it ran, with {NOTHING_TO_COMPARE}")
    held = f", as {subject.oracle.name}" if subject.settings.reference else ""
    return f"{', '.join(_SPECIALS)}, denormals in {counted(len(names), 'input')}{held}{'; '.join(['', *notes])}"


def is_numpys(subject: OperatorUnderTest) -> bool:
    """Return whether the framework is NumPy and the operator takes tensors."""
    return subject.driver.name == "numpy" and bool(subject.schema.tensor_arguments)


def _hold(subject: OperatorUnderTest, case: Case, dtypes: list[str], name: str, what: str, notes: list[str]) -> int:
    """Compare results with one special value in one input; return the number of comparisons, and add to the notes."""
    compared = 0
    made: dict[str, list[Array]] = {}
    for dtype in dtypes:
        value = _SPECIALS.get(what, _DENORMALS[dtype])
        typed = subject.typed(case, dtype)
        given = subject.arguments(typed)
        if given[name].dtype != dtype:
            return compared  # its type is fixed
        subject.announce(f"{typed}, with {what} in {name}")
        try:
            made[dtype] = subject.run(_with(given, name, value))
        except OpbridgeError:
            continue  # it may refuse them
        expected = subject.expected(_with(given, name, value)) if subject.settings.reference else None
        compared += expected is not None
        if expected and (wrong := mismatch(made[dtype], expected)):
            raise Failure(f"{wrong} with {what} in {name}, for {typed}; {subject.oracle.name} is the reference")
        compared += _hold_everywhere(subject, given, name, value, f"{what} in {name}, for {typed}")
    if what in _SPECIALS and all(dtype in made for dtype in _COMPARED):
        narrow, wide = (made[dtype] for dtype in _COMPARED)
        special = _with(subject.arguments(subject.typed(case, "float32")), name, _SPECIALS[what])
        count, note = compare_precisions(subject, special, narrow, wide, f"{what} in {name}, for {case}")
        compared += count
        notes += [note] if note else []
    return compared


def _with(given: Mapping[str, Any], name: str, value: float) -> dict[str, object]:
    """Return the arguments with the value in the middle of a tensor and at its end, after the last full vector."""
    values = given[name].values.copy()
    flat = values.reshape(-1)
    if flat.size:
        flat[[flat.size // 2, -1]] = value
    return {**given, name: Array.of(values, given[name].dtype)}


def _hold_everywhere(
    subject: OperatorUnderTest, given: Mapping[str, object], name: str, value: float, what: str
) -> int:
    """Check that an elementwise operator gives equal results for equal elements; count the compared outputs."""
    if "elementwise" not in (subject.spec.rules.batch, subject.spec.rules.shard):
        return 0
    try:
        ordinary, outputs = (subject.run(dict(_filled(given, name, filled))) for filled in (_FILL, value))
    except OpbridgeError:
        return 0
    compared = 0
    for usual, output in zip(ordinary, outputs, strict=True):
        # If results already differ for ordinary numbers, the operator depends on more than single elements.
        if not output.is_float or not usual.values.size or np.ptp(np.abs(usual.values)) > _SAME:
            continue
        compared += 1
        found = np.unique(kinds(output.values))
        if len(found) > 1:
            raise Failure(f"gives {' and '.join(map(str, found))} in one result, everywhere {what}")
    return compared


def _filled(given: Mapping[str, object], name: str, value: float) -> Iterator[tuple[str, Any]]:
    """Yield the arguments with equal elements in each tensor: `value` in the named one, a usual value elsewhere."""
    for other, argument in given.items():
        if not isinstance(argument, Array) or not argument.values.size:
            yield other, argument
            continue
        usual = _FILL if argument.is_float else argument.values.reshape(-1)[0]
        yield other, Array.of(np.full(argument.shape, value if other == name else usual), argument.dtype)
