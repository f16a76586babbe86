"""Compare analytic derivatives with numeric ones, and decide whether the formula or the precision is at fault.

A central difference has two errors. Truncation falls with the square of eps. Rounding grows as eps gets
smaller, and earlier in float32 than in float64. A correct formula shows both: its error plotted against eps is
a valley, whose bottom depends only on the precision. A wrong formula shows a plateau: its error stays the same
over many powers of ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opbridge.verify.check.results import RIGHT, Curve

EPS = {
    "float64": tuple(10 ** (-half / 2) for half in range(1, 24)),
    "float32": tuple(10 ** (-half / 2) for half in range(1, 15)),
}
"""The step sizes to measure with, two per power of ten."""

_USUAL = {"float64": 1e-5, "float32": 1e-2}
"""The eps at which the derivative of a smooth function is usually measured best."""

COMPLEX_STEP = 1e-30
"""The complex step subtracts nothing, so it loses no precision however small it is."""

_EXACT = {"float64": 1e-8, "float32": 1e-3}
"""The largest error of a correct analytic derivative relative to a complex step."""
_SAME_GRADIENT = 1e-3
"""How far the analytic gradient in float32 may be from the one in float64."""
_RUN = 4
"""The number of successive eps (two powers of ten) whose slopes must agree to be trusted."""
_AGREEING = 0.1
"""The tolerated spread of these slopes, relative to their distance from the analytic derivative."""
_DIRECTIONS = 3
_ELEMENTS = 12
"""How many elements of each tensor are measured one by one."""

Tensors = list[Any]
Loss = Callable[[Tensors], float]
"""A function that computes a weighted sum of the operator's outputs in one precision."""


@dataclass(frozen=True)
class Function:
    """The operator in one precision, as a function of the tensors by which it is differentiated."""

    dtype: str
    loss: Loss
    gradient: Tensors


@dataclass(frozen=True)
class Verdict:
    """The result of a gradient check."""

    passed: bool
    sentence: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Difference:
    """The element whose analytic and measured derivatives are furthest apart."""

    argument: str
    index: tuple[int, ...]
    analytic: float
    measured: float
    error: float

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"by {self.argument}{at} it gives {self.analytic:.6g}, and {self.measured:.6g} was measured"


def study(
    functions: Sequence[Function], point: Tensors, names: Sequence[str], complex_loss: Loss | None, seed: int
) -> Verdict:
    """Decide whether the analytic gradient is correct and accurate enough.

    Args:
        functions: The operator in each of its precisions, the most exact first.
        complex_loss: The imaginary part of the loss for complex tensors, if a reference provides it.
    """
    generator = np.random.default_rng(seed)
    directions = [[generator.choice((-1.0, 1.0), tensor.shape) for tensor in point] for _ in range(_DIRECTIONS)]
    curves = tuple(_curve(function, point, directions) for function in functions)
    finest, curve = functions[0], curves[0]
    least = curve.errors[curve.best]
    wrong = curve.settled is not None and least > RIGHT[finest.dtype]
    # For a wrong formula, the eps with the smallest error is a coincidence.
    eps = _USUAL[finest.dtype] if wrong else curve.eps[curve.best]
    worst = _worst(finest, point, names, eps, generator, complex_loss)
    if least > RIGHT[finest.dtype] or worst.error > (_EXACT if complex_loss else RIGHT)[finest.dtype]:
        return Verdict(False, _blamed(finest, curve, worst, complex_loss is not None), curves)
    return _in_float32(functions, curves, names, complex_loss is not None)


def _curve(function: Function, point: Tensors, directions: Sequence[Tensors]) -> Curve:
    eps = EPS[function.dtype]
    errors, settled = np.zeros(len(eps)), []
    for direction in directions:
        slopes = np.array([_slope(function.loss, point, direction, step) for step in eps])
        terms = [grad * step for grad, step in zip(function.gradient, direction, strict=True)]
        expected = float(sum(term.sum() for term in terms))
        sizes = np.maximum(float(sum(np.abs(term).sum() for term in terms)), np.abs(slopes))
        apart = np.abs(slopes - expected) / np.where(sizes > 0, sizes, 1.0)
        errors = np.maximum(errors, np.where(np.isfinite(apart), apart, math.inf))
        settled.append(_settled(slopes, expected, apart))
    level = max((error for error in settled if error is not None), default=None)
    return Curve(function.dtype, eps, tuple(map(float, errors)), level)


def _settled(slopes: Any, expected: float, errors: Any) -> float | None:
    """Return the error of slopes that agree with each other but not with the expected one; None if there are none."""
    for start in range(len(slopes) - _RUN + 1):
        run = slopes[start : start + _RUN]
        # If eps is lost in rounding, nothing changes and all slopes are zero.
        if not np.isfinite(run).all() or (not run.any() and slopes.any()):
            continue
        if np.ptp(run) < _AGREEING * abs(run.mean() - expected):
            return float(errors[start + _RUN // 2])
    return None


def _slope(loss: Loss, point: Tensors, direction: Tensors, eps: float) -> float:
    there = loss([tensor + eps * step for tensor, step in zip(point, direction, strict=True)])
    back = loss([tensor - eps * step for tensor, step in zip(point, direction, strict=True)])
    return (there - back) / (2 * eps)


def _worst(
    function: Function,
    point: Tensors,
    names: Sequence[str],
    eps: float,
    generator: np.random.Generator,
    complex_loss: Loss | None,
) -> Difference:
    found = Difference(names[0], (), 0.0, 0.0, 0.0)
    scale = max(float(np.abs(grad).max(initial=0.0)) for grad in function.gradient)
    for place, tensor in enumerate(point):
        chosen = generator.permutation(tensor.size)[:_ELEMENTS]
        for flat in map(int, chosen):
            index = tuple(map(int, np.unravel_index(flat, tensor.shape))) if tensor.shape else ()
            unit = [np.zeros(other.shape) for other in point]
            unit[place][index] = 1.0
            if complex_loss:
                moved = [other + 1j * COMPLEX_STEP * step for other, step in zip(point, unit, strict=True)]
                measured = complex_loss(moved) / COMPLEX_STEP
            else:
                measured = _slope(function.loss, point, unit, eps)
            analytic = float(function.gradient[place][index])
            size = max(scale, abs(measured))
            error = abs(measured - analytic) / size if size else 0.0
            error = error if math.isfinite(error) else math.inf
            if error > found.error:
                found = Difference(names[place], index, analytic, measured, error)
    return found


def _blamed(function: Function, curve: Curve, worst: Difference, exact: bool) -> str:
    least, eps = curve.errors[curve.best], curve.eps[curve.best]
    formula_fits = worst.error <= _EXACT[function.dtype] if exact else curve.settled is None
    if formula_fits:
        return (
            f"the formula fits, the precision does not: in {function.dtype} the error falls to {least:.1g} at "
            f"eps {eps:.1g} and rises again, so the kernel rounds more than its type does; "
            "keep intermediate values in T or ob::opmath<T>, and avoid differences of large numbers"
        )
    how = (
        "by complex step"
        if exact
        else f"in {function.dtype}, and the error stays at {curve.settled:.1g} for smaller eps"
    )
    if not exact and function.dtype == "float32":
        how += " (a kernel for double would make this sharper)"
    return f"the formula is wrong: {worst} {how}; correct `derivatives` of {worst.argument}"


def _in_float32(functions: Sequence[Function], curves: tuple[Curve, ...], names: Sequence[str], exact: bool) -> Verdict:
    first = curves[0]
    seen = f"error {first.errors[first.best]:.1g} at eps {first.eps[first.best]:.1g} in {first.dtype}"
    if exact:
        seen += ", and right by complex step"
    if len(functions) == 1:
        return Verdict(True, seen, curves)
    fine, coarse = functions[0], functions[1]
    for name, wide, narrow in zip(names, fine.gradient, coarse.gradient, strict=True):
        size = float(np.abs(wide).max(initial=0.0))
        apart = float(np.abs(wide - narrow).max(initial=0.0)) / size if size else 0.0
        if not apart <= _SAME_GRADIENT:
            return Verdict(
                False,
                f"the formula is right ({seen}) and too inexact for float32: the gradient by {name} is off by "
                f"{apart:.1%} there; write it without differences of large numbers, or compute it in double",
                curves,
            )
    second = curves[1]
    coarse_seen = f"{second.errors[second.best]:.1g} at eps {second.eps[second.best]:.1g} in float32"
    return Verdict(True, f"{seen}; {coarse_seen}", curves)
