"""Translate the array functions of formulas to calls of PyTorch's C++ functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from opbridge.base.errors import UnsupportedError
from opbridge.codegen.eject.expressions import Value
from opbridge.waist.rules.syntax import Call, Expr, Int, NoneLiteral
from opbridge.waist.rules.value_kinds import Kind

_SAME = frozenset(
    {
        *("abs", "sign", "square", "sqrt", "rsqrt", "reciprocal", "exp", "expm1", "log", "log1p", "log2", "log10"),
        *("sigmoid", "erf", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh"),
        *("atanh", "floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite", "logical_not", "real", "imag"),
        *("conj", "zeros_like", "ones_like", "floor_divide", "remainder", "atan2", "maximum", "minimum"),
        *("logical_and", "logical_or", "logical_xor", "matmul", "where"),
    }
)
"""Functions that have the same name in at:: and take only tensors."""
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_RELATIONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}

Given = Mapping[str, Expr]


class Tensors(Protocol):
    """A translator for the arguments of such calls."""

    def value(self, expr: Expr, /) -> Value:
        """Return an expression in C++ with its kind."""

    def tensor(self, expr: Expr, /) -> str:
        """Return an expression as a C++ tensor."""

    def plain(self, value: Value, /) -> str:
        """Return the text of a value; an optional number is checked to be present."""

    def as_kind(self, expr: Expr, kind: Kind, /) -> str:
        """Return an expression as a C++ value of a kind."""

    def axes(self, expr: Expr, /) -> str:
        """Return dimensions as a braced list or an array."""

    def whole_number(self, expr: Expr, /) -> str:
        """Return an expression as an int64_t, not as a symbol."""

    def binary(self, op: str, left: Value, right: Value, expr: Expr, /) -> Value:
        """Return a binary operation."""

    def compare(self, op: str, left: Value, right: Value, /) -> Value:
        """Return a comparison."""

    def unsupported(self, expr: Expr, /) -> UnsupportedError:
        """Return the error that an expression has no translation."""


def array_call(to: Tensors, expr: Call, given: Given) -> str:
    """Return the call of one array function; `given` has its arguments by name."""
    name = expr.name
    if name in _SAME:
        return f"at::{name}({', '.join(to.tensor(value) for value in given.values())})"
    if name in _SIGNS or name in _RELATIONS:
        left, right = (to.value(given[key]) for key in ("x1", "x2"))
        if name in _SIGNS:
            return to.binary(_SIGNS[name], left, right, expr).text
        return to.compare(_RELATIONS[name], left, right).text
    call = _CALLS.get(name)
    if call is None:
        raise to.unsupported(expr)
    return call(to, expr, given)


def _is_none(expr: Expr | None) -> bool:
    return expr is None or isinstance(expr, NoneLiteral)


def _axes(to: Tensors, given: Given, *, otherwise: str) -> str:
    axis = given.get("axis", NoneLiteral())
    return otherwise if _is_none(axis) else to.axes(axis)


def _keepdims(to: Tensors, given: Given) -> str:
    return to.value(given["keepdims"]).text if "keepdims" in given else "false"


def _x(to: Tensors, given: Given) -> str:
    return to.tensor(given["x"])


def _sizes(to: Tensors, given: Given) -> str:
    return to.as_kind(given["shape"], Kind.INTS)


def _optional_dims(to: Tensors, given: Given) -> str:
    return f"at::OptionalIntArrayRef({_axes(to, given, otherwise='')})"


def _reduced(to: Tensors, expr: Call, given: Given) -> str:
    return f"at::{expr.name}({_x(to, given)}, {_optional_dims(to, given)}, {_keepdims(to, given)})"


def _extremum(to: Tensors, expr: Call, given: Given) -> str:
    axes = _axes(to, given, otherwise="at::IntArrayRef()")
    return f"at::a{expr.name}({_x(to, given)}, {axes}, {_keepdims(to, given)})"


def _product(to: Tensors, expr: Call, given: Given) -> str:
    axis = given.get("axis", NoneLiteral())
    if not _is_none(axis):
        return f"at::prod({_x(to, given)}, {to.whole_number(axis)}, {_keepdims(to, given)})"
    if "keepdims" in given:
        raise to.unsupported(expr)
    return f"at::prod({_x(to, given)})"


def _spread(to: Tensors, expr: Call, given: Given) -> str:
    correction = to.value(given.get("correction", Int(0)))
    options = f"::std::optional<at::Scalar>({correction.text}), {_keepdims(to, given)}"
    return f"at::{expr.name}({_x(to, given)}, {_optional_dims(to, given)}, {options})"


def _place(to: Tensors, expr: Call, given: Given) -> str:
    axis = given.get("axis", NoneLiteral())
    at_axis = "::std::nullopt" if _is_none(axis) else to.whole_number(axis)
    return f"at::{expr.name}({_x(to, given)}, {at_axis}, {_keepdims(to, given)})"


def _cumulated(to: Tensors, expr: Call, given: Given) -> str:
    axis = given.get("axis", NoneLiteral())
    return f"at::cumsum({_x(to, given)}, {'-1' if _is_none(axis) else to.whole_number(axis)})"


def _power(to: Tensors, expr: Call, given: Given) -> str:
    return f"at::pow({', '.join(to.plain(to.value(given[key])) for key in ('x1', 'x2'))})"


def _clipped(to: Tensors, expr: Call, given: Given) -> str:
    bounds = (given.get(key, NoneLiteral()) for key in ("min", "max"))
    texts = [f"::std::optional<at::Tensor>({'' if _is_none(each) else to.tensor(each)})" for each in bounds]
    return f"at::clamp({_x(to, given)}, {', '.join(texts)})"


def _flipped(to: Tensors, expr: Call, given: Given) -> str:
    axes = _axes(to, given, otherwise="")
    # Reversing every axis reverses the flat array.
    whole = f"at::flip(at::flatten({_x(to, given)}), {{0}}).view_as({_x(to, given)})"
    return f"at::flip({_x(to, given)}, {axes})" if axes else whole


def _rolled(to: Tensors, expr: Call, given: Given) -> str:
    over = _axes(to, given, otherwise="at::IntArrayRef()")
    return f"at::roll({_x(to, given)}, {to.axes(given['shift'])}, {over})"


def _tensordot(to: Tensors, expr: Call, given: Given) -> str:
    axes = given.get("axes", Int(2))
    if not isinstance(axes, Int):
        raise to.unsupported(expr)
    left, right = (", ".join(map(str, places)) for places in (range(-axes.value, 0), range(axes.value)))
    return f"at::tensordot({to.tensor(given['x1'])}, {to.tensor(given['x2'])}, {{{left}}}, {{{right}}})"


def _filled(to: Tensors, expr: Call, given: Given) -> str:
    options = f"grads[0].options().dtype({to.value(given['dtype']).text})"
    return f"at::{expr.name}_symint({_sizes(to, given)}, {options})"


def _stacked(to: Tensors, expr: Call, given: Given) -> str:
    along = to.whole_number(given.get("axis", Int(0)))
    return f"at::{'cat' if expr.name == 'concat' else 'stack'}({to.value(given['arrays']).text}, {along})"


def _triangle(to: Tensors, expr: Call, given: Given) -> str:
    return f"at::{expr.name}({_x(to, given)}, {to.whole_number(given.get('k', Int(0)))})"


_CALLS: Mapping[str, Callable[[Tensors, Call, Given], str]] = {
    **dict.fromkeys(("sum", "mean", "all", "any"), _reduced),
    **dict.fromkeys(("max", "min"), _extremum),
    **dict.fromkeys(("var", "std"), _spread),
    **dict.fromkeys(("argmax", "argmin"), _place),
    **dict.fromkeys(("zeros", "ones"), _filled),
    **dict.fromkeys(("concat", "stack"), _stacked),
    **dict.fromkeys(("tril", "triu"), _triangle),
    "prod": _product,
    "cumulative_sum": _cumulated,
    "pow": _power,
    "clip": _clipped,
    "flip": _flipped,
    "roll": _rolled,
    "tensordot": _tensordot,
    "negative": lambda to, expr, given: f"at::neg({_x(to, given)})",
    "reshape": lambda to, expr, given: f"at::reshape_symint({_x(to, given)}, {_sizes(to, given)})",
    "broadcast_to": lambda to, expr, given: f"{_x(to, given)}.expand_symint({_sizes(to, given)})",
    "sum_to": lambda to, expr, given: f"at::sum_to({_x(to, given)}, {_sizes(to, given)})",
    "permute_dims": lambda to, expr, given: f"at::permute({_x(to, given)}, {to.axes(given['axes'])})",
    "expand_dims": lambda to, expr, given: f"at::unsqueeze({_x(to, given)}, {to.whole_number(given['axis'])})",
    "squeeze": lambda to, expr, given: f"at::squeeze({_x(to, given)}, at::IntArrayRef({to.axes(given['axis'])}))",
    "matrix_transpose": lambda to, expr, given: f"{_x(to, given)}.mT()",
    "take": lambda to, expr, given: (
        f"at::index_select({_x(to, given)}, {to.whole_number(given['axis'])}, {to.tensor(given['indices'])})"
    ),
    "full_like": lambda to, expr, given: f"at::full_like({_x(to, given)}, {to.plain(to.value(given['fill_value']))})",
    "astype": lambda to, expr, given: f"{_x(to, given)}.to({to.value(given['dtype']).text})",
}
