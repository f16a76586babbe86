"""Evaluate nodes for a row of numbers in plain Python, to compare one formula with another."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from itertools import accumulate

from opbridge.waist.formulas.nodes import (
    GRID,
    Apply,
    Count,
    Expand,
    Node,
    Number,
    Reduce,
    Scalar,
    Scan,
    Squeeze,
    Tensor,
)
from opbridge.waist.formulas.short_definitions import in_plain_functions

Row = list[float]
"""A row of numbers, or one number for a whole row."""


class NoNumber(Exception):
    """Raised for a node that depends on more than numbers."""


def row_of(node: Node, values: Mapping[str, Row], size: int) -> Row:
    """Return the node's values if all tensors have one dimension of this size; `values` are those of the arguments.

    Raises:
        NoNumber: The node depends on more than numbers.
    """
    return _row(in_plain_functions((node,))[node], values, size)


def _row(node: Node, values: Mapping[str, Row], size: int) -> Row:
    match node:
        case Number(value):
            return [float(value)]
        case Tensor(name) | Scalar(name):
            return values[name]
        case Count():
            return [float(size if node.of == GRID else 1)]
        case Expand(arg) | Squeeze(arg):
            return _row(arg, values, size)
        case Reduce(arg=arg):
            row = _row(arg, values, size)
            return [_reduced(node, row * size if arg.form == GRID and len(row) == 1 else row)]
        case Scan(arg, _, is_backward):
            row = _row(arg, values, size)
            whole = row * size if len(row) == 1 else row
            return [*accumulate(reversed(whole))][::-1] if is_backward else [*accumulate(whole)]
        case Apply():
            args = [_row(arg, values, size) for arg in node.args]
            length = max(map(len, args))
            return [_applied(node.function, [arg[i % len(arg)] for arg in args]) for i in range(length)]
    raise NoNumber


def _reduced(node: Reduce, values: Row) -> float:
    match node.kind:
        case "sum":
            return math.fsum(values)
        case "mean":
            return math.fsum(values) / len(values)
        case "max" | "largest" | "shift" | "any":
            return max(values)
        case "min" | "all":
            return min(values)
        case "log_total":
            return math.log(math.fsum(map(math.exp, values)))
        case "var":
            return statistics.pvariance(values) * len(values) / (len(values) - node.correction)
    return float(values.index(max(values) if node.kind == "argmax" else min(values)))


def _applied(name: str, args: Row) -> float:
    if name in _OWN:
        return float(_OWN[name](*args))
    function: Callable[..., float] = getattr(math, _C_NAMES.get(name, name))
    return float(function(*args))


_C_NAMES = {"abs": "fabs"}
_OWN: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "sign": lambda a: (a > 0) - (a < 0),
    "square": lambda a: a * a,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "reciprocal": lambda a: 1 / a,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "round": round,
    "isfinite": math.isfinite,
    "logical_not": lambda a: not a,
    "logical_and": lambda a, b: bool(a and b),
    "logical_or": lambda a, b: bool(a or b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "maximum": max,
    "minimum": min,
    "remainder": lambda a, b: a % b,
    "floor_divide": lambda a, b: a // b,
    "where": lambda c, a, b: a if c else b,
    "astype": lambda a: a,
}
