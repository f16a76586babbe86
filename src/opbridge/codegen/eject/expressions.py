"""Translate expressions over sizes, numbers and dtypes to C++, with the functions of headers/Sizes.h."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.base.errors import Location, UnsupportedError
from opbridge.codegen.unboxed_types import quoted
from opbridge.waist.rules.dtypes import DTYPES
from opbridge.waist.rules.syntax import (
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
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
from opbridge.waist.rules.value_kinds import ELEMENTS, Kind, kind_of
from opbridge.waist.schema import Argument, Schema

NUMBERS = (Kind.INT, Kind.FLOAT, Kind.BOOL)

_TYPES = dict(
    zip(
        DTYPES,
        ("Bool", "Byte", "Char", "UInt16", "Short", "UInt32", "Int", "UInt64", "Long", "Half", "BFloat16", "Float",
         "Double", "ComplexFloat", "ComplexDouble"),
        strict=True,
    )
)  # fmt: skip
_INFIX = {"+": "+", "-": "-", "*": "*"}
_CALLED = {"//": "floor_divide", "%": "modulo", "**": "power"}
_FOLDED = {"min": "smaller", "max": "larger"}
_PLAIN = {"abs": "magnitude", "int": "whole", "sum": "sum_of", "prod": "product_of", "ceil_div": "ceil_div"}


@dataclass(frozen=True, slots=True)
class Value:
    """An expression in C++."""

    text: str
    kind: Kind
    argument: Argument | None = None
    """The argument that it is, if it is exactly that."""

    @property
    def is_scalar(self) -> bool:
        """Whether it is an at::Scalar, with which C++ cannot compute."""
        return self.argument is not None and self.argument.type.base == "Scalar"


def arguments(schema: Schema) -> dict[str, Value]:
    """Return the values of the argument names, which are parameters of a C++ function."""
    return {argument.name: Value(argument.name, kind_of(argument.type), argument) for argument in schema.arguments}


class Sizes:
    """A translator for the expressions that the rules allow, which were checked when the manifest was read."""

    def __init__(self, schema: Schema, names: Mapping[str, Value], where: Location | None) -> None:
        self.schema = schema
        self.names = names
        self.where = where

    def as_kind(self, expr: Expr, kind: Kind) -> str:
        """Return an expression as text of a kind; numbers become doubles and lists become Sizes."""
        value = self.value(expr)
        if kind is Kind.FLOAT:
            return self.real(value)
        if kind is Kind.INTS:
            return self.listed(value)
        return value.text

    def unsupported(self, expr: Expr) -> UnsupportedError:
        """Return the error that an expression has no translation to C++."""
        at = f"{self.where}: " if self.where else ""
        return UnsupportedError(
            f"{at}'{expr}' of {self.schema.full_name} has no translation to C++\n"
            "  write it with other functions, or keep the operator in opbridge"
        )

    def value(self, expr: Expr) -> Value:
        """Return an expression in C++ with its kind; raise UnsupportedError if it has no translation."""
        match expr:
            case Name(id):
                return self.name(id)
            case Int(value):
                return Value(str(value), Kind.INT)
            case Float(value):
                return Value(repr(value), Kind.FLOAT)
            case Bool(value):
                return Value("true" if value else "false", Kind.BOOL)
            case Str(value):
                return Value(quoted(value), Kind.STR)
            case NoneLiteral():
                return Value("::std::nullopt", Kind.NONE)
            case ListOf(items):
                return Value(f"Sizes{{{', '.join(self.as_kind(item, Kind.INT) for item in items)}}}", Kind.INTS)
            case Attribute(of, name):
                return self.attribute(self.value(of), name, expr)
            case Index(of, items):
                return self.index(self.value(of), items, expr)
            case Unary("not", operand):
                return Value(f"!({self.value(operand).text})", Kind.BOOL)
            case Unary(_, operand):
                return self.negated(self.value(operand))
            case Binary(op, left, right):
                return self.binary(op, self.value(left), self.value(right), expr)
            case Compare(op, left, right):
                return self.compare(op, self.value(left), self.value(right))
            case BoolOp(op, left, right):
                sign = "&&" if op == "and" else "||"
                return Value(f"({self.value(left).text} {sign} {self.value(right).text})", Kind.BOOL)
            case IfElse(body, condition, orelse):
                return self.chosen(self.value(condition), self.value(body), self.value(orelse))
            case Call():
                return self.call(expr)
        raise self.unsupported(expr)

    def name(self, name: str) -> Value:
        """Return the value of a name, or of a dtype."""
        if name in self.names:
            return self.names[name]
        return Value(f"at::ScalarType::{_TYPES[name]}", Kind.DTYPE)

    def given(self, value: Value) -> str:
        """Return the text of a value; an argument that may be None is checked to be present."""
        if value.argument is not None and value.argument.type.is_optional:
            return f"given({value.text}, {quoted(value.argument.name)})"
        return value.text

    def listed(self, value: Value) -> str:
        """Return a list of integers as Sizes."""
        return f"sizes_of({self.given(value)})" if value.argument is not None else value.text

    def real(self, value: Value) -> str:
        """Return a number as a double."""
        return value.text if value.kind is Kind.FLOAT and not value.is_scalar else f"real({self.given(value)})"

    def attribute(self, value: Value, name: str, expr: Expr) -> Value:
        """Return the shape, rank, element count or dtype of a tensor."""
        tensor = self.given(value)
        match name:
            case "shape":
                return Value(f"sizes_of({tensor})", Kind.INTS)
            case "ndim":
                return Value(f"Int({tensor}.dim())", Kind.INT)
            case "numel":
                return Value(f"{tensor}.sym_numel()", Kind.INT)
            case "dtype":
                return Value(f"{tensor}.scalar_type()", Kind.DTYPE)
        raise self.unsupported(expr)

    def index(self, value: Value, items: tuple[Expr, ...], expr: Expr) -> Value:
        """Return an item or a slice of a list."""
        item = items[0]
        if isinstance(item, Slice):
            start, stop = (
                "::std::nullopt" if bound is None or isinstance(bound, NoneLiteral) else self.as_kind(bound, Kind.INT)
                for bound in (item.start, item.stop)
            )
            step = self.as_kind(item.step, Kind.INT) if item.step else "1"
            return Value(f"slice({self.listed(value)}, {start}, {stop}, {step})", Kind.INTS)
        if value.kind not in ELEMENTS:
            raise self.unsupported(expr)
        of = self.given(value) if value.argument is not None else value.text
        return Value(f"item({of}, {self.as_kind(item, Kind.INT)})", ELEMENTS[value.kind])

    def negated(self, value: Value) -> Value:
        """Return the negative of a value."""
        text = self.real(value) if value.kind is Kind.FLOAT else self.given(value)
        number = text.lstrip("-").replace(".", "").isalnum()
        return Value(f"-{text}" if number else f"-({text})", value.kind)

    def binary(self, op: str, left: Value, right: Value, expr: Expr) -> Value:
        """Return a binary operation on numbers, or the concatenation of two lists."""
        if left.kind is Kind.INTS:
            return Value(f"joined({self.listed(left)}, {self.listed(right)})", Kind.INTS)
        is_real = op == "/" or Kind.FLOAT in (left.kind, right.kind)
        a, b = (self.real(each) if is_real else self.integer(each) for each in (left, right))
        kind = Kind.FLOAT if is_real else Kind.INT
        if op == "/":
            return Value(f"divide({a}, {b})", kind)
        if op in _INFIX:
            return Value(f"({a} {_INFIX[op]} {b})", kind)
        if op in _CALLED and not is_real:
            return Value(f"{_CALLED[op]}({a}, {b})", kind)
        raise self.unsupported(expr)

    def integer(self, value: Value) -> str:
        """Return a whole number, as a symbol unless it is a literal: the other side may be one."""
        text = self.given(value)
        return f"Int({text})" if value.argument is not None else text

    def compare(self, op: str, left: Value, right: Value) -> Value:
        """Return a comparison of numbers, lists or dtypes, or a test for None."""
        if op in ("is", "is not"):
            is_there = self.is_there(left)
            return Value(is_there if op == "is not" else f"!{is_there}", Kind.BOOL)
        if {left.kind, right.kind} <= {Kind.INT, Kind.FLOAT} and Kind.FLOAT in (left.kind, right.kind):
            return Value(f"({self.real(left)} {op} {self.real(right)})", Kind.BOOL)
        a, b = (self.listed(each) if each.kind is Kind.INTS else self.given(each) for each in (left, right))
        return Value(f"({a} {op} {b})", Kind.BOOL)

    def is_there(self, value: Value) -> str:
        """Return the test that an optional value is present."""
        return f"{value.text}.has_value()"

    def chosen(self, condition: Value, body: Value, orelse: Value) -> Value:
        """Return a conditional expression whose branches have one type."""
        kinds = {body.kind, orelse.kind}
        if kinds <= {Kind.INT, Kind.FLOAT}:
            kind = Kind.FLOAT if Kind.FLOAT in kinds else Kind.INT
            a, b = (self.real(each) if kind is Kind.FLOAT else f"Int({self.given(each)})" for each in (body, orelse))
        else:
            kind = body.kind
            a, b = (self.listed(each) if kind is Kind.INTS else self.given(each) for each in (body, orelse))
        return Value(f"({condition.text} ? {a} : {b})", kind)

    def call(self, expr: Call) -> Value:
        """Return the call of a function of the rules."""
        values = [self.value(arg) for arg in expr.args]
        match expr.name:
            case "broadcast" | "promote":
                return Value(
                    f"{expr.name}({', '.join(value.text for value in values)})",
                    Kind.INTS if expr.name == "broadcast" else Kind.DTYPE,
                )
            case "len":
                return Value(f"Int(static_cast<int64_t>({self.given(values[0])}.size()))", Kind.INT)
            case "min" | "max":
                is_real = any(value.kind is Kind.FLOAT for value in values)
                texts = [self.real(value) if is_real else f"Int({self.given(value)})" for value in values]
                folded = texts[0]
                for text in texts[1:]:
                    folded = f"{_FOLDED[expr.name]}({folded}, {text})"
                return Value(folded, Kind.FLOAT if is_real else Kind.INT)
            case "abs":
                is_real = values[0].kind is Kind.FLOAT
                return Value(
                    f"magnitude({self.real(values[0]) if is_real else self.integer(values[0])})", values[0].kind
                )
            case "int" | "sum" | "prod" | "ceil_div":
                texts = [self.listed(each) if each.kind is Kind.INTS else self.given(each) for each in values]
                return Value(f"{_PLAIN[expr.name]}({', '.join(texts)})", Kind.INT)
        raise self.unsupported(expr)
