"""The check `precision`: results are as exact as their type, even if there is no exact reference to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opbridge.verify.check.arrays import TOLERANCES, Array, place_of_difference
from opbridge.verify.check.drivers import NotHere
from opbridge.verify.check.inputs import Case
from opbridge.verify.check.operator_under_test import OperatorUnderTest
from opbridge.verify.check.outcomes import Failure, Skip, Unchecked
from opbridge.verify.check.result_checks import has_numbers, in_finest

_MANY = 260_000
"""The number of elements after which a sum in too short a type has visibly lost precision."""
_COARSE, _FINE = 2.0**-20, 2.0**-40
"""Relative changes of an input: float32 can represent the first, only float64 also the second."""
_SEEN = 2.0**-28
"""The effect of the coarse change from which the fine one must be visible, far above float64's rounding."""
_ENOUGH = 0.25
"""The fraction of a result's elements to consider: if a kernel rounds to steps, few elements change, by whole steps."""
_TIMES = 30
"""The factor by which many elements may increase the tolerance."""
_LARGEST = 0.3


def precision(subject: OperatorUnderTest) -> str:
    """Verify that float64 is computed in float64, and that shorter floats stay close to it over many elements."""
    said = []
    if "float64" in (subject.facts.dtypes or (subject.dtype,)) and _holds_float64(subject):
        said.append("float64 is computed as such")
    case = subject.with_elements(_MANY)
    if case is not None and "float64" in subject.facts.dtypes:
        case = case.with_range((0.1, 2.0))
        held = [dtype for dtype in subject.facts.dtypes if _holds_over_many(subject, case, dtype)]
        if held:
            said.append(f"{', '.join(held)} near it over {_MANY:,} elements")
    if "float64" not in (subject.facts.dtypes or (subject.dtype,)):
        raise Skip("it has no kernel for float64 to compare with")
    if not said:
        raise Unchecked(
            "nothing to compare with: no small change of an input changes its results by more than rounding"
        )
    return "; ".join(said)


def is_numpys(subject: OperatorUnderTest) -> bool:
    """Return whether the framework is NumPy and the operator takes tensors."""
    return subject.driver.name == "numpy" and bool(subject.schema.tensor_arguments)


def _holds_float64(subject: OperatorUnderTest) -> bool:
    """Return whether it was visible that results follow the finest changes.

    Fails if the results follow only coarse changes.
    """
    case = subject.typed(subject.accepted("odd") or subject.case, "float64")
    given = subject.arguments(case)
    generator = np.random.default_rng(subject.settings.seed)
    before = subject.run(given)
    judged = False
    for name in subject.plain_tensors(case):
        if given[name].dtype != "float64":
            continue
        signs = generator.choice((-1.0, 1.0), given[name].shape)
        coarse, fine = (subject.run(_moved(given, name, signs * by)) for by in (_COARSE, _FINE))
        for old, coarsely, finely in zip(before, coarse, fine, strict=True):
            if old.dtype != "float64" or not _can_be_judged(old.values, coarsely.values, finely.values):
                continue
            judged = True
            if _ignores_what_is_fine(old.values, coarsely.values, finely.values):
                raise Failure(
                    f"loses float64's digits: a change of {name} by {_COARSE:.0e} changes its result and one by "
                    f"{_FINE:.0e} does not, for {case}; nothing on the way may be a float: write T, or ob::opmath<T>"
                )
    return judged


def _moved(given: Mapping[str, Any], name: str, by: Any) -> dict[str, Any]:
    return {**given, name: Array.of(given[name].values * (1.0 + by), "float64")}


def _can_be_judged(before: Any, coarse: Any, fine: Any) -> bool:
    """Return whether enough elements follow the coarse change to require the fine one."""
    alike = before.shape == coarse.shape == fine.shape and before.size > 0
    return bool(alike and _follows(before, coarse).mean() > _ENOUGH)


def _ignores_what_is_fine(before: Any, coarse: Any, fine: Any) -> bool:
    return bool((fine != before)[_follows(before, coarse)].mean() < _ENOUGH)


def _follows(before: Any, coarse: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.abs(coarse - before) > _SEEN * np.abs(before)


def _holds_over_many(subject: OperatorUnderTest, case: Case, dtype: str) -> bool:
    if "float" not in dtype or dtype == "float64":
        return False
    typed = subject.typed(case, dtype)
    given = subject.arguments(typed)
    try:
        made, expected = subject.run(given), in_finest(subject, given, dtype)
    except NotHere:
        return False
    compared = False
    for ours, exact in zip(made, expected or (), strict=False):
        if ours.dtype != dtype or ours.shape != exact.shape:
            continue
        compared |= has_numbers([exact])
        if _is_far(ours, exact):
            raise Failure(
                f"in {dtype} it gives {place_of_difference(ours, exact)}, for {typed}; running values are more exact "
                "in ob::opmath<T>, and sums of many in double"
            )
    return compared


def _is_far(ours: Array, exact: Array) -> bool:
    """Return whether many elements differ too much.

    A few may differ if a kernel rounds to steps. Values that the type cannot hold are not compared.
    """
    allowed = min(_TIMES * TOLERANCES[ours.dtype], _LARGEST)
    held = np.isfinite(Array.of(4.0 * exact.values, ours.dtype).values)
    if not held.any():
        return False
    scale = np.abs(exact.values[held]).max()
    with np.errstate(all="ignore"):
        far = ~(np.abs(ours.values - exact.values) <= allowed * scale)
    return bool(far[held].mean() > _ENOUGH)
