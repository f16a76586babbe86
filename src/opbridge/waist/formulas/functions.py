"""The table of elementwise functions: C++ for the value, and formulas for the derivatives.

In a derivative, `x`, `y` and `z` are the arguments, `r` is the result and `g` its gradient; an empty one is
zero. In C++, `{0}` is the first argument, as a value of the type used for computing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

CHOICE, COMPARISON, SUM, PRODUCT, SIGN, CALL = range(6)
"""The precedence of operators in C++, from the lowest."""


@dataclass(frozen=True)
class Function:
    """An elementwise function."""

    name: str
    arity: int
    cpp: str
    level: int
    derivatives: tuple[str, ...]
    is_truth: bool = False
    """Whether its result is a condition."""
    takes_truth: bool = False
    meaning: str = ""
    """Its definition in functions that devices have; empty if devices have it. Its derivatives are declared anyway."""
    is_public: bool = True
    """Whether formulas call it by its name."""


def _call(name: str, cpp: str, *derivatives: str, arity: int = 1) -> Function:
    given = ", ".join(f"{{{place}}}" for place in range(arity))
    return Function(name, arity, f"{cpp}({given})", CALL, derivatives or ("",) * arity)


def _operator(name: str, symbol: str, level: int, *derivatives: str) -> Function:
    return Function(name, 2, f"{{0}} {symbol} {{1}}", level, derivatives)


def _relation(name: str, symbol: str) -> Function:
    return Function(name, 2, f"{{0}} {symbol} {{1}}", COMPARISON, ("", ""), is_truth=True)


def _logical(name: str, symbol: str) -> Function:
    return Function(name, 2, f"{{0}} {symbol} {{1}}", CHOICE, ("", ""), is_truth=True, takes_truth=True)


def _made_of(name: str, meaning: str, *derivatives: str) -> Function:
    return Function(name, len(derivatives), "", CALL, derivatives, meaning=meaning)


def _inner(name: str, meaning: str, *derivatives: str) -> Function:
    return replace(_made_of(name, meaning, *derivatives), is_public=False)


def _test(name: str) -> Function:
    return Function(name, 1, f"std::{name}({{0}})", CALL, ("",), is_truth=True)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (
            _operator("add", "+", SUM, "g", "g"),
            _operator("subtract", "-", SUM, "g", "-g"),
            _operator("multiply", "*", PRODUCT, "g * y", "g * x"),
            _operator("divide", "/", PRODUCT, "g / y", "-g * r / y"),
            Function("negative", 1, "-{0}", SIGN, ("-g",)),
            _call("abs", "std::fabs", "g * sign(x)"),
            _call("sign", "ob::sign"),
            Function("square", 1, "{0} * {0}", PRODUCT, ("2 * g * x",)),
            _call("sqrt", "std::sqrt", "0.5 * g / r"),
            _call("rsqrt", "ob::rsqrt", "-0.5 * g * r * r * r"),
            Function("reciprocal", 1, "F(1) / {0}", PRODUCT, ("-g * r * r",)),
            _call("exp", "ob::exp", "g * r"),
            _call("expm1", "ob::expm1", "g * (r + 1)"),
            _call("log", "ob::log", "g / x"),
            _call("log1p", "ob::log1p", "g / (1 + x)"),
            _call("log2", "ob::log2", "g / (x * 0.6931471805599453)"),
            _call("log10", "ob::log10", "g / (x * 2.302585092994046)"),
            _call("sigmoid", "ob::sigmoid", "g * r * (1 - r)"),
            _call("erf", "ob::erf", "g * 1.1283791670955126 * exp(-(x * x))"),
            _call("sin", "ob::sin", "g * cos(x)"),
            _call("cos", "ob::cos", "-g * sin(x)"),
            _call("tan", "ob::tan", "g * (1 + r * r)"),
            _call("sinh", "ob::sinh", "g * cosh(x)"),
            _call("cosh", "ob::cosh", "g * sinh(x)"),
            _call("tanh", "ob::tanh", "g * (1 - r * r)"),
            _call("asin", "std::asin", "g * rsqrt(1 - x * x)"),
            _call("acos", "std::acos", "-g * rsqrt(1 - x * x)"),
            _call("atan", "ob::atan", "g / (1 + x * x)"),
            _call("asinh", "std::asinh", "g * rsqrt(1 + x * x)"),
            _call("acosh", "std::acosh", "g * rsqrt((x - 1) * (x + 1) + 0.0)"),
            _call("atanh", "std::atanh", "g / (1 - x * x)"),
            _call("floor", "std::floor"),
            _call("ceil", "std::ceil"),
            _call("round", "std::nearbyint"),
            _call("trunc", "std::trunc"),
            _test("isnan"),
            _test("isinf"),
            _test("isfinite"),
            Function("logical_not", 1, "!{0}", SIGN, ("",), is_truth=True, takes_truth=True),
            _logical("logical_and", "&&"),
            _logical("logical_or", "||"),
            _logical("logical_xor", "!="),
            _relation("equal", "=="),
            _relation("not_equal", "!="),
            _relation("less", "<"),
            _relation("less_equal", "<="),
            _relation("greater", ">"),
            _relation("greater_equal", ">="),
            _call(
                "pow",
                "ob::pow",
                "where(y == 0, 0, g * (y * x ** (y - 1)))",
                "g * (r * log(where(logical_and(x == 0, y >= 0), 1, x)))",
                arity=2,
            ),
            _call(
                "atan2",
                "ob::atan2",
                "where(x * x + y * y == 0, 0, g * y / (x * x + y * y))",
                "where(x * x + y * y == 0, 0, -g * x / (x * x + y * y))",
                arity=2,
            ),
            _call(
                "maximum",
                "ob::maximum",
                "where(x < y, 0, where(x == y, 0.5 * g, g))",
                "where(y < x, 0, where(x == y, 0.5 * g, g))",
                arity=2,
            ),
            _call(
                "minimum",
                "ob::minimum",
                "where(x > y, 0, where(x == y, 0.5 * g, g))",
                "where(y > x, 0, where(x == y, 0.5 * g, g))",
                arity=2,
            ),
            _call("remainder", "ob::remainder", "g", "-g * floor_divide(x, y)", arity=2),
            _call("floor_divide", "ob::floor_divide", arity=2),
            Function("where", 3, "{0} ? {1} : {2}", CHOICE, ("", "where(x, g, 0)", "where(x, 0, g)")),
            Function("astype", 1, "{0}", CALL, ("g",)),
            _made_of("relu", "where(x < 0, 0, x)", "where(x <= 0, 0, g)"),
            # log(1 + exp(x)) without overflow
            _made_of("softplus", "where(x > 0, x, 0) + log1p(exp(-abs(x)))", "g * sigmoid(x)"),
            _inner("clip_low", "where(x >= y, x, where(x != x, x, y))", "where(x >= y, g, 0)", "where(x < y, g, 0)"),
            _inner("clip_high", "where(x <= y, x, where(x != x, x, y))", "where(x <= y, g, 0)", "where(x > y, g, 0)"),
            _inner("deviation", "sqrt(x)", "where(r == 0, 0, 0.5 * g / r)"),
        )
    }
)

REDUCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "sum": "g",
        "mean": "g / n",
        "max": "where(x == r, g, 0) / sum(where(x == r, 1.0, 0.0))",
        "min": "where(x == r, g, 0) / sum(where(x == r, 1.0, 0.0))",
        "var": "2 * g * (x - mean(x)) / (n - correction)",
        "argmax": "",
        "argmin": "",
        "any": "",
        "all": "",
        "largest": "",
        "shift": "",
        "log_total": "g * exp(x - r)",
    }
)
"""Reductions along axes, with their derivatives; `n` elements are reduced to one, and results keep their axes.

`any` and `all` reduce zeros and ones.  `log_total` is the logarithm of the sum of exponentials.  Subtracting `largest`
first prevents overflow; it has no gradient, since the result does not depend on it.  `shift` equals `largest`, with 0
in place of an infinity.
"""
EXTREMES = ("max", "min", "argmax", "argmin")
"""Functions without a value for an empty axis."""
REDUCING = ("sum", "mean", "max", "min", "logsumexp", "var", "std", "argmax", "argmin", "any", "all")
"""The functions that formulas can call."""
