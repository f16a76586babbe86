"""Elementwise functions as instructions of Ascend C's vector unit, and the functions that it lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_OF_ONE = ("erf", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh")
_NAMED = re.compile(r"\{([abpq])\}")


@dataclass(frozen=True)
class Instructions:
    """Lines for one function of `{n}` lanes.

    `{to}` is the result, a vector that differs from the operands `{0}`, `{1}` and `{2}`. `{a}` and `{b}` are
    vectors for temporary values; `{p}` and `{q}` are such masks.
    """

    text: str
    is_library: bool = False
    """Whether the function needs additional local memory."""

    @property
    def temporaries(self) -> list[str]:
        """The names of the temporary vectors and masks."""
        return sorted(set(_NAMED.findall(self.text)))


def _plain(name: str) -> Instructions:
    return Instructions(f"{name}({{to}}, {{0}}, {{n}});")


def _library(name: str) -> Instructions:
    return Instructions(f"{name}({{to}}, {{0}}, {{n}});", is_library=True)


def _two(name: str) -> Instructions:
    return Instructions(f"{name}({{to}}, {{0}}, {{1}}, {{n}});")


def _own(name: str, *given: str, is_library: bool = False) -> Instructions:
    return Instructions(f"ob::npu::{name}({{to}}, {', '.join(f'{{{one}}}' for one in given)}, {{n}});", is_library)


def _rounded(mode: str) -> Instructions:
    return Instructions(f"Cast({{to}}, {{0}}, RoundMode::CAST_{mode}, {{n}});")


def _relation(mode: str, swapped: str) -> dict[str, Instructions]:
    compared = "CompareScalar({{to}}, {{{}}}, {{{}}}, CMPMODE::{}, ob::npu::whole({{n}}));"
    return {
        "vv": Instructions(f"Compare({{to}}, {{0}}, {{1}}, CMPMODE::{mode}, ob::npu::whole({{n}}));"),
        "vs": Instructions(compared.format(0, 1, mode)),
        "sv": Instructions(compared.format(1, 0, swapped)),
    }


_FORMS: Mapping[str, Mapping[str, Instructions]] = {
    "add": {
        "vv": _two("Add"),
        "vs": _two("Adds"),
        "sv": Instructions("Adds({to}, {1}, {0}, {n});"),
    },
    "subtract": {
        "vv": _two("Sub"),
        "vs": Instructions("Adds({to}, {0}, -({1}), {n});"),
        "sv": Instructions("Muls({to}, {1}, -1.0f, {n});\nAdds({to}, {to}, {0}, {n});"),
    },
    "multiply": {
        "vv": _two("Mul"),
        "vs": _two("Muls"),
        "sv": Instructions("Muls({to}, {1}, {0}, {n});"),
    },
    "divide": {"vv": _two("Div")},
    "negative": {"v": Instructions("Muls({to}, {0}, -1.0f, {n});")},
    "abs": {"v": _plain("Abs")},
    "sign": {"v": _own("sign", "0", "a", "p")},
    "square": {"v": Instructions("Mul({to}, {0}, {0}, {n});")},
    "sqrt": {"v": _plain("Sqrt")},
    "rsqrt": {"v": _own("rsqrt", "0", "a")},
    "reciprocal": {"v": _own("reciprocal", "0", "a")},
    "exp": {"v": _plain("Exp")},
    "expm1": {"v": _own("expm1", "0", "a", "b", is_library=True)},
    "log": {"v": _plain("Ln")},
    "log1p": {"v": _own("log1p", "0", "a", "b", "p")},
    "log2": {"v": _library("Log2")},
    "log10": {"v": _library("Log10")},
    "sigmoid": {"v": _own("sigmoid", "0", "a")},
    **{name: {"v": _library(name.capitalize())} for name in _OF_ONE},
    "floor": {"v": _rounded("FLOOR")},
    "ceil": {"v": _rounded("CEIL")},
    "round": {"v": _rounded("RINT")},
    "trunc": {"v": _rounded("TRUNC")},
    "isnan": {"v": Instructions("Compare({to}, {0}, {0}, CMPMODE::NE, ob::npu::whole({n}));")},
    "isinf": {"v": _own("is_infinite", "0", "a")},
    "isfinite": {"v": _own("is_finite", "0", "a")},
    "logical_not": {"m": _own("neither", "0")},
    "logical_and": {"mm": _own("both", "0", "1")},
    "logical_or": {"mm": _own("either", "0", "1")},
    "logical_xor": {"mm": _own("one_of", "0", "1", "p")},
    "equal": _relation("EQ", "EQ"),
    "not_equal": _relation("NE", "NE"),
    "less": _relation("LT", "GT"),
    "less_equal": _relation("LE", "GE"),
    "greater": _relation("GT", "LT"),
    "greater_equal": _relation("GE", "LE"),
    "pow": {"vv": Instructions("Power({to}, {0}, {1}, {n});", is_library=True)},
    "maximum": {"vv": _own("maximum", "0", "1", "p")},
    "minimum": {"vv": _own("minimum", "0", "1", "p")},
    "remainder": {"vv": _own("remainder", "0", "1", "a", "b", "p", "q", is_library=True)},
    "floor_divide": {"vv": _own("floor_divide", "0", "1", "a", "b", "p", "q", is_library=True)},
    "where": {
        "mvv": _own("choose", "0", "1", "2"),
        "mvs": _own("choose", "0", "1", "2"),
        "mmm": _own("choose", "0", "1", "2", "p"),
    },
}

ASCEND: Mapping[tuple[str, str], Instructions] = MappingProxyType(
    {(name, pattern): form for name, forms in _FORMS.items() for pattern, form in forms.items()}
)
"""The instructions by function and operands: `v` is a vector, `m` a mask, `s` a number."""

REFUSED = MappingProxyType(
    {
        "atan2": "the vector unit has no atan2",
        "argmax": "the vector unit gives places of 32 bits, and of one vector",
        "argmin": "the vector unit gives places of 32 bits, and of one vector",
        "float64": "the vector unit computes in float32",
        "slices": "vectors go along whole axes there",
    }
)
"""The features without an instruction, with the reason."""
