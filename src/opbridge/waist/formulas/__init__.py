"""Operators from formulas: kernels, rules and gradients that follow from one line of mathematics."""

from __future__ import annotations

from opbridge.waist.formulas.derived_operators import FormulaOperators, formula_operators
from opbridge.waist.formulas.generated_kernels import Generated

__all__ = ["FormulaOperators", "Generated", "formula_operators"]
