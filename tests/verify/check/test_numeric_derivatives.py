"""The judgement of a gradient, on functions whose derivatives are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.verify.check.numeric_derivatives import Function, Loss, Verdict, study
from opbridge.verify.check.results import Curve

POINT = np.array([[0.3, -1.2, 0.7], [1.9, -0.4, 0.9]])


def sine_loss(dtype: str) -> Loss:
    def loss(tensors: list[Any]) -> float:
        return float(np.sin(tensors[0].astype(dtype)).astype(np.float64).sum())

    return loss


def judged(factor: float, *, noise: float = 0.0, single: float | None = None) -> Verdict:
    """Of sin, whose derivative is given as cos times a factor; `single` is the factor in float32."""

    def noisy(tensors: list[Any]) -> float:
        return round(sine_loss("float64")(tensors) / noise) * noise if noise else sine_loss("float64")(tensors)

    functions = [Function("float64", noisy, [factor * np.cos(POINT)])]
    if single is not None:
        functions.append(Function("float32", sine_loss("float32"), [single * np.cos(POINT)]))
    return study(functions, [POINT], ["x"], None, seed=0)


def test_a_right_formula_passes_with_the_best_eps_of_both_precisions() -> None:
    verdict = judged(1.0, single=1.0)
    assert verdict.passed
    fine, coarse = verdict.curves
    assert (fine.dtype, coarse.dtype) == ("float64", "float32")
    assert 1e-7 < fine.eps[fine.best] < 1e-3 < coarse.eps[coarse.best]
    assert fine.errors[fine.best] < 1e-9 < 1e-6 < coarse.errors[coarse.best] * 10
    assert fine.settled is None


@given(st.floats(-3, 3).filter(lambda factor: abs(factor - 1) > 1e-3))
def test_any_other_factor_is_a_wrong_formula(factor: float) -> None:
    verdict = judged(factor)
    assert not verdict.passed
    assert verdict.sentence.startswith("the formula is wrong: by x[")
    assert verdict.curves[0].settled == pytest.approx(abs(factor - 1) / max(1, abs(factor)), rel=0.2)


def test_coarse_values_are_not_blamed_on_the_formula() -> None:
    verdict = judged(1.0, noise=1e-4)
    assert not verdict.passed
    assert verdict.sentence.startswith("the formula fits, the precision does not")


def test_a_gradient_that_float32_spoils_is_said_to_be_right() -> None:
    verdict = judged(1.0, single=1.01)
    assert not verdict.passed
    assert verdict.sentence.startswith("the formula is right")
    assert "off by 1.0%" in verdict.sentence


def test_a_complex_step_measures_without_rounding() -> None:
    def complex_loss(tensors: list[Any]) -> float:
        return float(np.sin(tensors[0]).sum().imag)

    function = Function("float64", sine_loss("float64"), [np.cos(POINT) * (1 + 1e-7)])
    assert study([function], [POINT], ["x"], None, seed=0).passed
    verdict = study([function], [POINT], ["x"], complex_loss, seed=0)
    assert not verdict.passed
    assert "by complex step" in verdict.sentence


def test_the_best_eps_is_the_one_with_the_least_error() -> None:
    curve = Curve("float64", (1e-1, 1e-2, 1e-3), (1e-2, 1e-4, 1e-3))
    assert curve.eps[curve.best] == 1e-2
