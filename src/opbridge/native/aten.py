"""The compiler of derivative formulas to code for native/torch/formula.h, in terms of ATen operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

from opbridge.base.errors import UnsupportedError
from opbridge.waist.rules import ARRAY_FUNCTIONS, DTYPE_CODES, Derivative
from opbridge.waist.rules.formulas import meanings
from opbridge.waist.rules.lowering import RELATIONS
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
from opbridge.waist.rules.words import WordWriter, word_of
from opbridge.waist.schema import Schema


class Code(IntEnum):
    """The operations of formula.h."""

    ARGUMENT = 0
    GRAD = auto()
    RESULT = auto()
    INTEGER = auto()
    REAL = auto()
    BOOLEAN = auto()
    NONE = auto()
    TEXT = auto()
    DTYPE = auto()
    LIST = auto()
    CALL = auto()
    ARITHMETIC = auto()
    COMPARE = auto()
    NEGATE = auto()
    NOT = auto()
    SHAPE = auto()
    DTYPE_OF = auto()
    RANK = auto()
    NUMEL = auto()
    INDEX = auto()
    JUMP_IF_FALSE = auto()
    JUMP = auto()
    IS_NONE = auto()


class Subscript(IntEnum):
    """The kind of one item in the brackets of an INDEX."""

    INTEGER = 0
    SLICE = auto()
    NEW_AXIS = auto()
    ELLIPSIS = auto()


_SIGNS = {"+": "+", "-": "-", "*": "*", "/": "/", "@": "@", "%": "%", "//": "f", "**": "^"}

_RENAMED = {
    "negative": "neg",
    "add": "add.Tensor",
    "subtract": "sub.Tensor",
    "multiply": "mul.Tensor",
    "divide": "div.Tensor",
    "remainder": "remainder.Tensor",
    "pow": "pow.Tensor_Tensor",
    "equal": "eq.Tensor",
    "not_equal": "ne.Tensor",
    "less": "lt.Tensor",
    "less_equal": "le.Tensor",
    "greater": "gt.Tensor",
    "greater_equal": "ge.Tensor",
    "where": "where.self",
    "clip": "clamp.Tensor",
    "sum": "sum.dim_IntList",
    "mean": "mean.dim",
    "max": "amax",
    "min": "amin",
    "all": "all.dims",
    "any": "any.dims",
    "broadcast_to": "expand",
    "permute_dims": "permute",
    "expand_dims": "unsqueeze",
    "squeeze": "squeeze.dims",
    "concat": "cat",
    "sum_to": "sum_to_size",
    "matrix_transpose": "mT",
    "astype": "to.dtype",
}
"""Array functions whose ATen operator has another name and takes the same arguments in the same order."""


@dataclass(frozen=True)
class FormulaCode:
    """The code that computes the gradients of the arguments in `targets`."""

    targets: tuple[int, ...]
    words: Sequence[int]
    strings: Sequence[str]


def compile_derivative(derivative: Derivative, schema: Schema) -> FormulaCode:
    """Compile the formula for the gradients of the derivative's arguments.

    Raises:
        UnsupportedError: The formula has a form that ATen cannot compute.
    """
    places = {argument.name: place for place, argument in enumerate(schema.arguments)}
    targets = tuple(places[name] for name in derivative.arguments)
    compiler = _Compiler(schema, places)
    expr = derivative.formula.expr
    if len(targets) > 1 and isinstance(expr, ListOf):
        for item in expr.items:
            compiler.lower(item)
    else:
        compiler.lower(expr)
    return FormulaCode(targets, compiler.words, compiler.strings)


class _Compiler(WordWriter):
    def __init__(self, schema: Schema, places: Mapping[str, int]) -> None:
        super().__init__()
        self.meanings = meanings(schema)
        self.places = places
        self.strings: list[str] = []

    def text(self, text: str) -> int:
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def lower(self, expr: Expr) -> None:
        match expr:
            case Name():
                self.name(expr.id)
            case Int(value):
                self.put(Code.INTEGER, value)
            case Float(value):
                self.put(Code.REAL, word_of(value))
            case Bool(value):
                self.put(Code.BOOLEAN, value)
            case Str(value):
                self.put(Code.TEXT, self.text(value))
            case NoneLiteral():
                self.put(Code.NONE)
            case ListOf(items):
                for item in items:
                    self.lower(item)
                self.put(Code.LIST, len(items))
            case Attribute(value, name):
                self.attribute(value, name)
            case Index(value, items):
                self.index(value, items)
            case Unary(op, operand):
                self.lower(operand)
                self.put(Code.NOT if op == "not" else Code.NEGATE)
            case Binary(op, left, right):
                self.lower(left)
                self.lower(right)
                self.put(Code.ARITHMETIC, ord(_SIGNS[op]))
            case Compare(op, left, right):
                self.compare(op, left, right)
            case BoolOp("and", left, right):
                self.choose(left, right, Bool(False))
            case BoolOp(_, left, right):
                self.choose(left, Bool(True), right)
            case IfElse(body, condition, orelse):
                self.choose(condition, body, orelse)
            case Call(name, args, kwargs):
                self.call(name, args, dict(kwargs))
            case _:
                raise UnsupportedError(f"'{expr}' has no meaning in a derivative")

    def name(self, name: str) -> None:
        if name in DTYPE_CODES and name not in self.meanings:
            self.put(Code.DTYPE, DTYPE_CODES[name])
            return
        (meaning,) = self.meanings[name]
        if meaning.argument:
            self.put(Code.ARGUMENT, self.places[meaning.argument])
            return
        code, indices = (Code.GRAD, meaning.grads) if meaning.grads else (Code.RESULT, meaning.results)
        for index in indices:
            self.put(code, index)
        if name in ("grads", "results"):
            self.put(Code.LIST, len(indices))

    def attribute(self, value: Expr, name: str) -> None:
        self.lower(value)
        plain = {"shape": Code.SHAPE, "dtype": Code.DTYPE_OF, "ndim": Code.RANK, "numel": Code.NUMEL}
        if name in plain:
            self.put(plain[name])
        else:
            self.operator("aten::numpy_T" if name == "T" else "aten::mT", 1)

    def index(self, value: Expr, items: tuple[Expr, ...]) -> None:
        if (
            isinstance(value, Name)
            and value.id in ("grads", "results")
            and len(items) == 1
            and isinstance(items[0], Int)
        ):
            (meaning,) = self.meanings[value.id]
            places = meaning.grads or meaning.results
            self.put(Code.GRAD if value.id == "grads" else Code.RESULT, places[items[0].value])
            return
        self.lower(value)
        kinds = []
        for item in items:
            match item:
                case Slice(start, stop, step):
                    for part in (start, stop, step):
                        self.lower(part or NoneLiteral())
                    kinds.append(Subscript.SLICE)
                case NoneLiteral():
                    kinds.append(Subscript.NEW_AXIS)
                case Dots():
                    kinds.append(Subscript.ELLIPSIS)
                case _:
                    self.lower(item)
                    kinds.append(Subscript.INTEGER)
        self.put(Code.INDEX, len(kinds), *kinds)

    def compare(self, op: str, left: Expr, right: Expr) -> None:
        self.lower(left)
        if op in ("is", "is not"):
            self.put(Code.IS_NONE)
            if op == "is not":
                self.put(Code.NOT)
            return
        self.lower(right)
        self.put(Code.COMPARE, RELATIONS[op])

    def choose(self, condition: Expr, body: Expr, orelse: Expr) -> None:
        self.lower(condition)
        self.put(Code.JUMP_IF_FALSE)
        to_else = self.put_place()
        self.lower(body)
        self.put(Code.JUMP)
        to_end = self.put_place()
        self.fill_place(to_else)
        self.lower(orelse)
        self.fill_place(to_end)

    def operator(self, name: str, positional: int, keywords: tuple[str, ...] = ()) -> None:
        """Emit a call on the values on the stack.

        The overload of an ATen operator without one is resolved from its arguments.
        """
        base, dot, overload = name.partition(".")
        if base.startswith("aten::") and not dot:
            overload = "?"
        words = (self.text(base), self.text(overload), positional, len(keywords), *map(self.text, keywords))
        self.put(Code.CALL, *words)

    def call(self, name: str, args: tuple[Expr, ...], kwargs: dict[str, Expr]) -> None:
        if name not in ARRAY_FUNCTIONS:
            for value in (*args, *kwargs.values()):
                self.lower(value)
            self.operator(name, len(args), tuple(kwargs))
            return
        parameters = ARRAY_FUNCTIONS[name].parameters
        given = dict(zip((parameter.name for parameter in parameters), args, strict=False)) | kwargs
        special = getattr(self, f"call_{name}", None)
        if special is not None:
            special(given)
            return
        values = [given.get(parameter.name) or _literal(parameter.default) for parameter in parameters]
        self.aten(_RENAMED.get(name, name), *values)

    def aten(self, operator: str, *args: Expr, **kwargs: Expr) -> None:
        for value in (*args, *kwargs.values()):
            self.lower(value)
        base, _, overload = operator.partition(".")
        self.put(Code.CALL, self.text(f"aten::{base}"), self.text(overload), len(args), len(kwargs))
        self.put(*map(self.text, kwargs))

    # The functions whose arguments have another form in ATen.

    def call_prod(self, given: dict[str, Expr]) -> None:
        if not _is_none(given.get("axis")):
            self.aten("prod.dim_int", given["x"], given["axis"], given.get("keepdims", Bool(False)))
        elif given.get("keepdims", Bool(False)) == Bool(False):
            self.aten("prod", given["x"])
        else:
            raise UnsupportedError("prod with keepdims takes an axis in a derivative; use reshape(prod(x), ...)")

    def call_max(self, given: dict[str, Expr]) -> None:
        self.extremum("amax", given)

    def call_min(self, given: dict[str, Expr]) -> None:
        self.extremum("amin", given)

    def extremum(self, operator: str, given: dict[str, Expr]) -> None:
        axis = ListOf(()) if _is_none(given.get("axis")) else given["axis"]
        self.aten(operator, given["x"], axis, given.get("keepdims", Bool(False)))

    def call_var(self, given: dict[str, Expr]) -> None:
        self.spread("var.correction", given)

    def call_std(self, given: dict[str, Expr]) -> None:
        self.spread("std.correction", given)

    def spread(self, operator: str, given: dict[str, Expr]) -> None:
        correction, keepdims = given.get("correction", Int(0)), given.get("keepdims", Bool(False))
        self.aten(operator, given["x"], given.get("axis", NoneLiteral()), correction=correction, keepdim=keepdims)

    def call_cumulative_sum(self, given: dict[str, Expr]) -> None:
        self.aten("cumsum", given["x"], given.get("axis", Int(-1)))

    def call_flip(self, given: dict[str, Expr]) -> None:
        # Flipping every axis is flipping the flat array.
        flat = Call("reshape", (given["x"], ListOf((Int(-1),))))
        whole = Call("reshape", (Call("flip", (flat, Int(0))), Attribute(given["x"], "shape")))
        axis = given.get("axis")
        if axis is None or _is_none(axis):
            self.lower(whole)
        elif isinstance(axis, Name):
            self.choose(Compare("is", axis, NoneLiteral()), whole, Call("aten::flip", (given["x"], axis)))
        else:
            self.aten("flip", given["x"], axis)

    def call_roll(self, given: dict[str, Expr]) -> None:
        axis = ListOf(()) if _is_none(given.get("axis")) else given["axis"]
        self.aten("roll", given["x"], given["shift"], axis)

    def call_take(self, given: dict[str, Expr]) -> None:
        self.aten("index_select", given["x"], given["axis"], given["indices"])

    def call_zeros(self, given: dict[str, Expr]) -> None:
        self.aten("new_zeros", Name("grad"), given["shape"], dtype=given["dtype"])

    def call_ones(self, given: dict[str, Expr]) -> None:
        self.aten("new_ones", Name("grad"), given["shape"], dtype=given["dtype"])

    def call_tensordot(self, given: dict[str, Expr]) -> None:
        axes = given.get("axes", Int(2))
        if not isinstance(axes, Int):
            raise UnsupportedError(f"tensordot in a derivative takes a number of axes, got '{axes}'; use matmul or sum")
        left = ListOf(tuple(Int(axis) for axis in range(-axes.value, 0)))
        right = ListOf(tuple(Int(axis) for axis in range(axes.value)))
        self.aten("tensordot", given["x1"], given["x2"], left, right)


def _is_none(expr: Expr | None) -> bool:
    return expr is None or isinstance(expr, NoneLiteral)


def _literal(value: object) -> Expr:
    if value is None:
        return NoneLiteral()
    return Bool(value) if isinstance(value, bool) else Int(int(str(value)))
