"""Compare outputs of an answer with those of the reference, within bounds from the reference's own error."""

from __future__ import annotations

import numpy as np

from opbridge.analysis.judge.values import Array, arrays_of
from opbridge.analysis.judge.verdict.bounds import HALVES, Numbers, bound, error_of, is_inexact, numbers
from opbridge.analysis.judge.verdict.structures import Difference, difference_of_one, difference_of_sizes, names_of

_ENOUGH = 64
"""The elements whose mean error tells a bias from a few large errors."""
_BIAS, _BIAS_OF_HALVES = 0.5, 0.25
"""The largest mean signed error, as a part of the mean bound."""
_RESOLVED = 4.0
"""Numbers differ for the reference if they are this many of its errors apart."""


def difference(answer: object, exact: object, rounded: object, least: float = 0.0) -> Difference | None:
    """Return the first difference from the reference; None if there is none.

    `exact` is the reference in float64, `rounded` in its own element types. Errors up to `least` are always
    allowed.
    """
    if found := difference_of_sizes(answer, rounded):
        return found
    given, wanted, own = arrays_of(answer), arrays_of(exact), arrays_of(rounded)
    for output, one, right, coarse in zip(names_of(len(given)), given, wanted, own, strict=True):
        if found := _of_numbers(output, one, numbers(right), coarse, least):
            return found
    return None


def share_of_right(answer: object, exact: object, rounded: object) -> float:
    """Return the part of the elements that are right, from 0 to 1; 0 if the structure, a type or a shape differs."""
    if difference_of_sizes(answer, rounded):
        return 0.0
    groups = zip(arrays_of(answer), arrays_of(exact), arrays_of(rounded), strict=True)
    right = [_fine(numbers(one), numbers(wanted), coarse, 0.0)[0] for one, wanted, coarse in groups]
    count = sum(one.size for one in right)
    return float(sum(int(one.sum()) for one in right) / count) if count else 0.0


def is_same_result(one: object, other: object, rounded: object) -> bool:
    """Return whether two float64 results of a reference are the same, as far as its own types can tell."""
    groups = zip(arrays_of(one), arrays_of(other), arrays_of(rounded), strict=True)
    return all(_fine(numbers(left), numbers(right), coarse, 0.0)[0].all() for left, right, coarse in groups)


def is_near(one: Array, exact: Array, rounded: Array, *, in_any_order: bool = False) -> bool:
    """Return whether numbers, of any type and shape, are those of an output."""
    right = numbers(exact)
    try:
        got = numbers(one)
    except (TypeError, ValueError):
        return False
    if not (got.size == right.size > 1 and got.dtype.kind == right.dtype.kind):
        return False
    got = got.reshape(right.shape)
    if in_any_order and right.dtype.kind != "c":
        # As many of each size: every number takes the place of the one that it would be.
        places = np.argsort(right, axis=None)
        got = np.sort(got, axis=None)[np.argsort(places)].reshape(right.shape)
    return bool(_fine(got, right, rounded, 0.0)[0].all())


def difference_of_gradients(answer: object, exact: object, rounded: object) -> Difference | None:
    """Return the first gradient that differs; None if there is none.

    Gradients are matched by name; those of other names must be that of some parameter of the same shape, if there is
    one. An answer may have parameters that the reference has not; those are not compared.
    """
    if not (isinstance(answer, dict) and isinstance(exact, dict) and isinstance(rounded, dict)):
        return None
    others = [name for name in exact if name not in answer]
    for name, one in answer.items():
        if not isinstance(one, Array):
            continue
        alike = [other for other in others if _is_alike(one, rounded[other])]
        found = [_of_gradient(name, one, exact[each], rounded[each]) for each in ([name] if name in exact else alike)]
        if found and all(found):
            return found[0]
    return None


def difference_of_state(answer: object, exact: object, rounded: object) -> Difference | None:
    """Return the first buffer or parameter that is another than the reference's after a call; None if there is none.

    Those of other names, types or shapes are the answer's own.
    """
    if not (isinstance(answer, dict) and isinstance(exact, dict) and isinstance(rounded, dict)):
        return None
    kept = [name for name, wanted in rounded.items() if isinstance(wanted, Array) and name in answer]
    for name in kept:
        one, wanted = answer[name], rounded[name]
        is_alike = isinstance(one, Array) and _is_alike(one, wanted)
        found = _of_numbers(f"{name} after the call", one, numbers(exact[name]), wanted) if is_alike else None
        if found:
            return Difference(found.message, "leave buffers and weights as the reference does")
    return None


def _is_alike(one: Array, other: object) -> bool:
    return isinstance(other, Array) and (one.dtype, one.shape) == (other.dtype, other.shape)


def _of_gradient(name: str, one: Array, exact: object, coarse: object) -> Difference | None:
    if not isinstance(exact, Array) or not isinstance(coarse, Array):
        return None
    gradient = f"the gradient of {name}"
    return difference_of_one(gradient, one, coarse) or _of_numbers(gradient, one, numbers(exact), coarse)


def _of_numbers(output: str, given: Array, exact: Numbers, coarse: Array, least: float = 0.0) -> Difference | None:
    try:
        got = numbers(given)
    except (TypeError, ValueError):
        return Difference(f"{output} is not a tensor of numbers: {given}", "return the same outputs as the reference")
    if exact.size == 0:
        return None
    fine, allowed = _fine(got, exact, coarse, least)
    if fine.all():
        return None if least or not is_inexact(exact) else _of_all(output, got, exact, coarse, allowed)
    first = np.unravel_index(int(np.argmin(fine)), exact.shape)
    at = f" at [{', '.join(map(str, first))}]" if exact.ndim else ""
    why = "where all inputs give the same" if least else f"from the reference's own error in {coarse.dtype}"
    return _numbers_differ(
        f"{output} is {_shown(got[first])} instead of {_shown(exact[first])}{at} (tolerance "
        f"{float(allowed[first]):.2g}, {why}); {_of_elements(int((~fine).sum()), exact.size)}"
    )


def _of_elements(differing: int, size: int) -> str:
    return f"{differing} of {size} elements differ{'s' if differing == 1 else ''}"


def _shown(number: object) -> str:
    return str(number) if isinstance(number, (np.bool_, np.integer)) else f"{number:.6g}"


def _numbers_differ(message: str) -> Difference:
    return Difference(message, "compute the same values as the reference for these inputs", is_of_numbers=True)


def _fine(got: Numbers, exact: Numbers, coarse: Array, least: float) -> tuple[Numbers, Numbers]:
    """Return which elements are right, and the allowed distances.

    Integers and truth values must equal one of both runs of the reference. Infinities and NaN of either run must match
    with their sign, because a bound does not apply to them.
    """
    own = numbers(coarse)
    with np.errstate(all="ignore"):
        if not is_inexact(exact):
            return (got == exact) | (got == own), np.zeros(exact.shape)
        allowed = np.broadcast_to(np.maximum(bound(exact, coarse), least), exact.shape)
        is_near = np.isfinite(got) & np.isfinite(exact) & (np.abs(got - exact) <= allowed)
        is_lost = ~(np.isfinite(exact) & np.isfinite(own))
        return is_near | _is_same(got, exact) | (is_lost & _is_same(got, own)), allowed


def _is_same(one: Numbers, other: Numbers) -> Numbers:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def _of_all(output: str, got: Numbers, exact: Numbers, coarse: Array, allowed: Numbers) -> Difference | None:
    """Return what is wrong with numbers of which each may be right: all the same, or all off in one direction."""
    is_finite = np.isfinite(got) & np.isfinite(exact)
    if exact.dtype.kind == "c" or is_finite.sum() < 2:
        return None
    own, right = got[is_finite], exact[is_finite]
    error = np.max(error_of(coarse, exact), initial=0.0)
    if np.ptp(own) == 0 and np.ptp(right) > _RESOLVED * error:
        return _numbers_differ(f"{output} is {own[0]:.6g} everywhere, and the reference's is not")
    if own.size < _ENOUGH:
        return None
    direction = np.sign(right)
    mean, most = (own - right) @ direction / own.size, float(np.mean(allowed[is_finite]))
    lost = numbers(coarse)[is_finite] - right  # where both are infinite, they have no difference
    mean_of_reference = float(np.where(np.isfinite(lost), lost, 0.0) @ direction) / own.size
    largest = (_BIAS_OF_HALVES if coarse.dtype in HALVES else _BIAS) * most + 2 * abs(mean_of_reference)
    if abs(mean) <= largest:
        return None
    return _numbers_differ(
        f"{output} is off by {mean:.2g} in the mean, in the direction of its numbers; {largest:.2g} is allowed"
    )


def drawn_otherwise(answer: object, reference: object) -> bool:
    """Return whether the parameters differ from those of the reference, in any order and shapes."""
    given, wanted = (
        np.concatenate([numbers(array).ravel() for array in arrays_of(value)] or [np.empty(0)])
        for value in (answer, reference)
    )
    told = wanted[(wanted != 0) & (wanted != 1)]
    return bool(told.size and given.size and np.isin(told, given).mean() < 0.5)


def same_bits(one: object, other: object) -> bool:
    """Return whether two outputs are equal bit by bit."""
    return arrays_of(one) == arrays_of(other)
