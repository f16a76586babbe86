"""The evaluation of an expression in Python on any values: numbers, symbolic integers or traced arrays.

Nothing here checks the type of a number, and only a condition turns a value into a bool. So a framework's tracer sees
the arithmetic as if the user had written it in Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from opbridge.base.errors import RuleError
from opbridge.waist.rules.syntax import (
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
    Dots,
    Expr,
    Float,
    IfElse,
    Index,
    Int,
    ListOf,
    Name,
    NoneLiteral,
    Slice,
    Str,
    Unary,
)

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
}


def evaluate(expr: Expr, environment: Mapping[str, object], functions: Mapping[str, object]) -> Any:
    """Evaluate an expression and return its value.

    `environment` holds the values by name. `functions` holds, by name, the functions that can be called (operators as
    `ns::name`) and the framework's dtypes (`float32`).
    """
    return Evaluator(environment, functions).run(expr)


class Evaluator:
    """An evaluator of expressions; subclasses override single operations."""

    def __init__(self, environment: Mapping[str, Any], functions: Mapping[str, Any]) -> None:
        self.environment = environment
        self.functions = functions

    def run(self, node: Expr) -> Any:
        """Evaluate a node and return its value."""
        match node:  # the most frequent nodes come first: the cases are tried in order
            case Name(id):
                return self.name(id)
            case Binary(op, left, right) | Compare(op, left, right):
                return self.binary(op, self.run(left), self.run(right))
            case Call():
                return self.call(node)
            case Int(value) | Float(value) | Bool(value) | Str(value):
                return value
            case NoneLiteral():
                return None
            case Dots():
                return ...
            case Attribute(value, "numel"):
                return math.prod(self.run(value).shape)
            case Attribute(value, name):
                return getattr(self.run(value), name)
            case Index(value, items):
                whole = self.run(value)
                return _item(whole, self.run(items[0]) if len(items) == 1 else tuple(map(self.run, items)))
            case Slice(start, stop, step):
                return slice(*(bound and self.run(bound) for bound in (start, stop, step)))
            case ListOf(items):
                return tuple(map(self.run, items))
            case Unary(op, operand):
                return not self.run(operand) if op == "not" else -self.run(operand)
            case BoolOp(op, left, right):
                if op == "and":
                    return self.run(left) and self.run(right)
                return self.run(left) or self.run(right)
            case IfElse(body, condition, orelse):
                return self.run(body) if self.run(condition) else self.run(orelse)
        raise TypeError(f"{type(node).__name__} is not an expression")

    def name(self, name: str) -> Any:
        """Return the value of a name, with a list as a tuple."""
        value = self.environment[name] if name in self.environment else self.functions[name]
        # A list of sizes must concatenate with a shape, and shapes are tuples in every framework.
        return tuple(value) if isinstance(value, list) else value

    def binary(self, op: str, left: object, right: object) -> object:
        """Apply a binary or comparison operator."""
        return _OPERATORS[op](left, right)

    def call(self, node: Call) -> Any:
        """Evaluate the arguments of a call and call the function."""
        function = self.functions[node.name]
        return function(*map(self.run, node.args), **{key: self.run(value) for key, value in node.kwargs})


def _item(value: Any, index: Any) -> object:
    try:
        return value[index]
    except IndexError:
        if not isinstance(value, tuple):
            raise  # the array's own error has more detail
        raise RuleError(f"index {index} is out of range, there are {len(value)}") from None
    except ValueError:
        if not isinstance(value, tuple):
            raise
        raise RuleError("a slice's step is zero") from None
