"""Operators from formulas: kernels, rules and gradients that follow from one line of mathematics."""

from __future__ import annotations

from opbridge.waist.formulas.kernels import Generated
from opbridge.waist.formulas.operators import FormulaOperators, formula_operators

__all__ = ["FormulaOperators", "Generated", "formula_operators"]
