"""Translate derivatives to C++: array functions become at:: calls, library operators their own C++ functions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opbridge.base.errors import Location
from opbridge.codegen.backend import Formula, kernel_name
from opbridge.codegen.eject.arrays import array_call
from opbridge.codegen.eject.expressions import NUMBERS, Sizes, Value, arguments
from opbridge.codegen.unboxed_types import default_value, quoted
from opbridge.waist.rules import ARRAY_FUNCTIONS, Derivative
from opbridge.waist.rules.formulas import meanings
from opbridge.waist.rules.syntax import Call, Dots, Expr, Index, Int, ListOf, Name, NoneLiteral, Slice
from opbridge.waist.rules.value_kinds import Kind, kind_of
from opbridge.waist.schema import Argument, Schema

_TENSOR_CALLS = {"//": "floor_divide", "%": "remainder", "**": "pow", "@": "matmul"}


def translated(
    derivative: Derivative, schema: Schema, operators: Mapping[str, Schema], where: Location | None
) -> Formula:
    """Return one formula in the form that the generated nodes take."""
    translation = Tensors(schema, operators, where)
    expr = derivative.formula.expr
    several = len(derivative.arguments) > 1
    if several and isinstance(expr, ListOf):
        text = f"::std::make_tuple({', '.join(translation.tensor(item) for item in expr.items)})"
    elif several or schema.argument(derivative.arguments[0]).type.is_list:
        text = translation.value(expr).text
    else:
        text = translation.tensor(expr)
    return Formula(derivative.arguments, text, frozenset(re.findall(r"[A-Za-z_]\w*", text)))


class Tensors(Sizes):
    """A translator for expressions with tensors; expressions of sizes alone are translated by `Sizes`."""

    def __init__(self, schema: Schema, operators: Mapping[str, Schema], where: Location | None) -> None:
        super().__init__(schema, arguments(schema), where)
        self.operators = operators
        self.meanings = meanings(schema)

    def tensor(self, expr: Expr) -> str:
        """Return a gradient, or any other value that must be a tensor."""
        value = self.value(expr)
        if value.kind is Kind.NONE:
            return "at::Tensor()"
        return f"number({self.plain(value)})" if value.kind in NUMBERS else value.text

    def plain(self, value: Value) -> str:
        """Return the text of a value; an optional number is checked to be present."""
        return self.given(value) if value.kind in NUMBERS else value.text

    def is_there(self, value: Value) -> str:
        """Return the test that a value is present: nodes keep an absent tensor as an undefined one."""
        is_tensor = value.argument is not None and str(value.argument.type) == "Tensor?"
        return f"{value.text}.defined()" if is_tensor or value.kind is Kind.TENSOR else f"{value.text}.has_value()"

    def given(self, value: Value) -> str:
        """Return the text of a value; tensors need no check."""
        return value.text if value.kind is Kind.TENSOR else super().given(value)

    def name(self, name: str) -> Value:
        """Return the value of a name: an argument, a result, a gradient, or the list of either."""
        if name not in self.meanings:
            return super().name(name)
        (meaning,) = self.meanings[name]
        if meaning.argument:
            return super().name(name)
        if name in ("grads", "results"):
            texts = [f"grads[{i}]" if name == "grads" else f"result{i}" for i in range(len(self.schema.returns))]
            if self.schema.returns[0].type.is_list:
                return Value("grads" if name == "grads" else "result0", Kind.TENSORS)
            return Value(f"::std::vector<at::Tensor>{{{', '.join(texts)}}}", Kind.TENSORS)
        return self.output(meaning.grads, meaning.results)

    def output(self, grads: tuple[int, ...], results: tuple[int, ...]) -> Value:
        """Return one result, or the gradient of one."""
        index = (grads or results)[0]
        kind = kind_of(self.schema.returns[index].type)
        if kind is Kind.TENSORS:
            return Value("grads" if grads else f"result{index}", kind)
        return Value(f"grads[{index}]" if grads else f"result{index}", kind)

    def value(self, expr: Expr) -> Value:
        """Return an expression in C++; lists with tensors become vectors."""
        match expr:
            case Index(Name("grads" | "results" as group), (Int(number),)) if not self.schema.returns[0].type.is_list:
                return self.output((number,) if group == "grads" else (), () if group == "grads" else (number,))
            case ListOf(items) if items:
                values = [self.value(item) for item in items]
                if any(value.kind is Kind.TENSOR for value in values):
                    texts = ", ".join(self.tensor(item) for item in items)
                    return Value(f"::std::vector<at::Tensor>{{{texts}}}", Kind.TENSORS)
        return super().value(expr)

    def attribute(self, value: Value, name: str, expr: Expr) -> Value:
        """Return an attribute, which for tensors includes T and mT."""
        if name in ("T", "mT"):
            return Value(f"{value.text}.{'numpy_T' if name == 'T' else 'mT'}()", Kind.TENSOR)
        return super().attribute(value, name, expr)

    def index(self, value: Value, items: tuple[Expr, ...], expr: Expr) -> Value:
        """Return an indexed tensor, or a part of a tuple of unknown type."""
        if value.kind is Kind.ANY and len(items) == 1 and isinstance(items[0], Int):
            return Value(f"part<{items[0].value}>({value.text})", Kind.TENSOR)
        if value.kind not in (Kind.TENSOR, Kind.ANY):
            return super().index(value, items, expr)
        texts = ", ".join(self.subscript(item) for item in items)
        return Value(f"{value.text}.index({{{texts}}})", Kind.TENSOR)

    def subscript(self, item: Expr) -> str:
        """Return one index of a tensor as an at::indexing value."""
        match item:
            case NoneLiteral():
                return "at::indexing::None"
            case Dots():
                return "at::indexing::Ellipsis"
            case Slice(start, stop, step):
                bounds = [
                    "::std::nullopt"
                    if bound is None or isinstance(bound, NoneLiteral)
                    else self.as_kind(bound, Kind.INT)
                    for bound in (start, stop, step)
                ]
                while bounds and bounds[-1] == "::std::nullopt":
                    bounds.pop()
                return f"at::indexing::Slice({', '.join(bounds)})"
        return f"concrete({self.as_kind(item, Kind.INT)})"

    def negated(self, value: Value) -> Value:
        """Return the negative of a value."""
        return Value(f"-{value.text}", value.kind) if value.kind in (Kind.TENSOR, Kind.ANY) else super().negated(value)

    def binary(self, op: str, left: Value, right: Value, expr: Expr) -> Value:
        """Return a binary operation, which tensors may take part in."""
        if not {left.kind, right.kind} & {Kind.TENSOR, Kind.ANY}:
            return super().binary(op, left, right, expr)
        a, b = self.plain(left), self.plain(right)
        if op in _TENSOR_CALLS:
            first = f"number({a})" if left.kind in NUMBERS and op != "**" else a
            return Value(f"at::{_TENSOR_CALLS[op]}({first}, {b})", Kind.TENSOR)
        return Value(f"({a} {op} {b})", Kind.TENSOR)

    def compare(self, op: str, left: Value, right: Value) -> Value:
        """Return a comparison, which tensors may take part in."""
        if op in ("is", "is not") or not {left.kind, right.kind} & {Kind.TENSOR, Kind.ANY}:
            return super().compare(op, left, right)
        return Value(f"({self.plain(left)} {op} {self.plain(right)})", Kind.TENSOR)

    def chosen(self, condition: Value, body: Value, orelse: Value) -> Value:
        """Return a conditional expression, in which None becomes an undefined tensor."""
        kinds = {body.kind, orelse.kind}
        if not kinds & {Kind.TENSOR, Kind.ANY}:
            return super().chosen(condition, body, orelse)
        a, b = ("at::Tensor()" if each.kind is Kind.NONE else f"at::Tensor({each.text})" for each in (body, orelse))
        return Value(f"({condition.text} ? {a} : {b})", Kind.TENSOR)

    def call(self, expr: Call) -> Value:
        """Return the call of an array function, of an ATen operator or of an operator of the library."""
        if expr.name in ARRAY_FUNCTIONS:
            names = [parameter.name for parameter in ARRAY_FUNCTIONS[expr.name].parameters]
            given = dict(zip(names, expr.args, strict=False)) | dict(expr.kwargs)
            return Value(array_call(self, expr, given), Kind.TENSOR)
        if expr.name.startswith("aten::"):
            if expr.kwargs:
                raise self.unsupported(expr)
            values = [self.value(arg) for arg in expr.args]
            texts = [self.listed(value) if value.kind is Kind.INTS else self.plain(value) for value in values]
            return Value(f"at::{expr.name.removeprefix('aten::')}({', '.join(texts)})", Kind.ANY)
        return self.operator(expr, self.operators[expr.name])

    def operator(self, expr: Call, schema: Schema) -> Value:
        """Return the call of a library operator by its own C++ function, with every argument written out."""
        named = dict(zip((argument.name for argument in schema.positional), expr.args, strict=False)) | dict(
            expr.kwargs
        )
        texts = [
            self.passed(argument, named[argument.name]) if argument.name in named else default_value(argument)
            for argument in schema.arguments
        ]
        if None in texts:
            raise self.unsupported(expr)
        call = f"{schema.namespace}::ops::{kernel_name(schema)}({', '.join(map(str, texts))})"
        return Value(call, kind_of(schema.returns[0].type) if len(schema.returns) == 1 else Kind.ANY)

    def passed(self, argument: Argument, expr: Expr) -> str:
        """Return an argument in the type that the operator's C++ function takes."""
        value = self.value(expr)
        kind = kind_of(argument.type)
        if kind is Kind.TENSOR and value.kind is not Kind.NONE:
            return self.tensor(expr)
        if value.argument is not None or value.kind is Kind.NONE:
            return value.text
        if kind is Kind.FLOAT and argument.type.base == "float":
            return self.real(value)
        if kind is Kind.INT and argument.type.base == "int" and not isinstance(expr, Int):
            return f"concrete({value.text})"
        if kind is Kind.INTS and argument.type.base == "int":
            return f"concrete({value.text})"
        return value.text

    def axes(self, expr: Expr) -> str:
        """Return dimensions as a braced list or an array."""
        if isinstance(expr, ListOf):
            return f"{{{', '.join(map(self.whole_number, expr.items))}}}"
        value = self.value(expr)
        if value.kind is Kind.INT:
            return f"{{{self.whole_number(expr)}}}"
        return value.text if value.argument is not None else f"concrete({value.text})"

    def whole_number(self, expr: Expr) -> str:
        """Return an expression as an int64_t, not as a symbol."""
        value = self.value(expr)
        is_plain = re.fullmatch(r"-?\d+", value.text) or (
            value.argument is not None and value.argument.type.base == "int"
        )
        return self.given(value) if is_plain else f"concrete({value.text})"


def missing(schema: Schema, argument: Argument) -> Formula:
    """Return the formula of an argument for which the manifest has none: it raises an error when it is needed."""
    message = (
        f"{schema.full_name} has no derivative for '{argument.name}'; add one under `derivatives:` (or a `backward:`), "
        "or pass a tensor that does not require grad"
    )
    type_ = "<::std::vector<at::Tensor>>" if argument.type.is_list else ""
    return Formula((argument.name,), f"no_derivative{type_}({quoted(message)})", frozenset())
