"""Parse the text of a formula into nodes: the named parts first, then the value of each output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.base.errors import Location, RuleError, TextLocation, did_you_mean
from opbridge.waist.formulas.functions import FUNCTIONS, REDUCING
from opbridge.waist.formulas.make_nodes import FormError, apply, expand, number, reduce, scan, squeeze
from opbridge.waist.formulas.moved_slices import CutError
from opbridge.waist.formulas.nodes import GRID, Axes, Extent, Join, Node, Scalar, Size, Tensor, Text, made, ordered
from opbridge.waist.formulas.slices_and_joins import Placer
from opbridge.waist.rules.arrays import ARRAY_FUNCTIONS
from opbridge.waist.rules.dtypes import DTYPE_CODES
from opbridge.waist.rules.parser import Source, parse_expression
from opbridge.waist.rules.statements import Statement, pieces, statements
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
    Str,
    Unary,
)
from opbridge.waist.schema import Schema

OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
}
RELATIONS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_GRADIENTS = ("grad", "grads", "result", "results")
_SCALARS = ("float", "int", "bool", "Scalar", "SymInt", "SymBool")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COMPOSED = ("clip", "expand_dims", "silu", "softmax", "log_softmax")
_REDUCTIONS = (*REDUCING, "softmax", "log_softmax")
_SCANS = ("cumsum", "cumulative_sum")
_PLACED = ("concat", "cat", "interleave", "roll", "flip")
_PUBLIC = tuple(name for name, function in FUNCTIONS.items() if function.is_public)
FORMULA_FUNCTIONS = (*_PUBLIC, *REDUCING, *_COMPOSED, *_SCANS, *_PLACED)


@dataclass(frozen=True)
class Program:
    """A formula that fits its schema."""

    schema: Schema
    text: str
    names: tuple[tuple[str, Node], ...]
    """The parts by the names that the author gave them."""
    outputs: tuple[Node, ...]
    statements: tuple[tuple[str, Expr], ...] = ()
    """The expressions as written, the parts first; the name of an output is empty."""
    reductions: tuple[tuple[Node, Expr], ...] = ()
    """The expression of each reduction as written."""


def read_formula(text: str, schema: Schema, where: Location | None = None) -> Program:
    """Parse a formula for an operator.

    Raises:
        RuleError: The formula is invalid or does not fit the schema.
    """
    where = where or TextLocation(f"formula of {schema.full_name}", 1, 1, text.partition("\n")[0])
    return _Reader(Source(text, where), schema).program()


def read_value(text: str, schema: Schema, names: Mapping[str, Node]) -> Node:
    """Parse one value over the arguments of a schema and additional names."""
    reader = _Reader(Source(text), schema)
    reader.names = {**{argument.name: reader.argument(argument.name) for argument in schema.arguments}, **names}
    return reader.value(parse_expression(text))


class _Reader:
    def __init__(self, source: Source, schema: Schema) -> None:
        self.source = source
        self.schema = schema
        self.names: dict[str, Node] = {}
        self.placer = Placer(self)
        self.reductions: dict[Node, Expr] = {}
        self.said: list[tuple[str, Expr]] = []

    def program(self) -> Program:
        self.check_schema()
        self.names = {argument.name: self.argument(argument.name) for argument in self.schema.arguments}
        given = dict(self.names)
        *lets, last = self.statements()
        for statement in lets:
            if not statement.name:
                raise self.error("expected a name for this part: name = ...", statement.offset)
            if statement.name in self.names or statement.name in self.placer.sizes:
                raise self.error(f"'{statement.name}' is taken already", statement.offset)
            expr = statement.parsed(self.source)
            self.said.append((statement.name, expr))
            if self.placer.is_size(expr):
                self.placer.sizes[statement.name] = self.placer.size(expr)
            else:
                self.names[statement.name] = self.value(expr)
        outputs = tuple(self.output(statement) for statement in self.outputs(last))
        wanted = len(self.schema.returns)
        if len(outputs) != wanted:
            raise self.error(f"expected {_values(wanted)}, got {len(outputs)}", last.offset, f"it is {self.schema}")
        self.check_tensors(outputs)
        parts = tuple((name, node) for name, node in self.names.items() if name not in given)
        said, reductions = tuple(self.said), tuple(self.reductions.items())
        return Program(self.schema, self.source.text.strip(), parts, outputs, said, reductions)

    def error(self, message: str, at: int | Expr, hint: str = "") -> RuleError:
        offset = at.offset if isinstance(at, Expr) else at
        return self.source.error(message, offset, hint)

    def check_tensors(self, outputs: tuple[Node, ...]) -> None:
        """Check that each tensor has the same meaning in the whole formula."""
        found: dict[str, Tensor] = {}
        for node in ordered(outputs):
            if not isinstance(node, Tensor):
                continue
            first = found.setdefault(node.name, node)
            if (first.form, first.is_mask) == (node.form, node.is_mask):
                continue
            place = self.source.text.find(node.name)
            if node.is_mask != found[node.name].is_mask:
                hint = f"compare it where a condition is wanted: {node.name} != 0"
                raise self.error(f"'{node.name}' stands for a number and for a condition", place, hint)
            message = f"'{node.name}' is combined with values that lost axes, and with values that have them"
            raise self.error(message, place, "say keepdim=True where the axes are reduced")

    def check_schema(self) -> None:
        schema = self.schema
        for argument in schema.arguments:
            kind = str(argument.type)
            if argument.name in _GRADIENTS:
                raise self.error(f"'{argument.name}' is what the gradient's formula calls its own", 0, "rename it")
            if argument.alias is not None:
                raise self.error(f"a formula writes to no argument; {schema.full_name} writes to '{argument.name}'", 0)
            if kind not in ("Tensor", "str", *_SCALARS):
                hint = f"it may be Tensor, {', '.join(_SCALARS[:4])} or str; write a kernel for more"
                raise self.error(f"no formula takes '{argument.name}', which is {kind}", 0, hint)
        for output in schema.returns:
            if str(output.type) != "Tensor" or output.alias is not None:
                raise self.error(f"a formula makes new tensors; {schema.full_name} returns {output}", 0)
        if not schema.returns or not schema.tensor_arguments:
            raise self.error(f"a formula goes from tensors to tensors; it is {schema}", 0)

    def argument(self, name: str) -> Node:
        kind = str(self.schema.argument(name).type)
        if kind == "Tensor":
            return made(Tensor, name)
        return made(Scalar, name, kind)

    def statements(self) -> list[Statement]:
        found = statements(self.source.text)
        if not found:
            raise self.error("expected a formula, got nothing", 0, "for example: x * sigmoid(x)")
        return found

    def outputs(self, last: Statement) -> list[Statement]:
        if last.name:
            hint = "the last line is the value, or the values with commas between them"
            raise self.error(f"'{last.name}' is named and then not used", last.offset, hint)
        places = pieces(self.source.text, last.offset, last.offset + len(last.text), ",")
        return [Statement("", self.source.text[start:end], start) for start, end in places]

    def output(self, statement: Statement) -> Node:
        expr = statement.parsed(self.source)
        self.said.append(("", expr))
        node = self.value(expr)
        if not any(isinstance(part, Tensor) for part in ordered((node,))):
            raise self.error(f"{expr} depends on no tensor, which an output takes its shape from", expr)
        return node

    def value(self, expr: Expr) -> Node:
        match expr:
            case Int(value) | Float(value) | Bool(value):
                return number(value)
            case Name(id) if id in self.placer.sizes:
                return made(Size, self.placer.sizes[id])
            case Index(Attribute(_, "shape")):
                return made(Size, self.placer.size(expr))
            case Name(id):
                return self.name(expr, id)
            case Unary("not", operand):
                return self.applied("logical_not", [operand], expr)
            case Unary(_, operand):
                return self.applied("negative", [operand], expr)
            case Binary(op, left, right) if op in OPERATORS:
                return self.applied(OPERATORS[op], [left, right], expr)
            case Compare(op, Name(id), Str(value)) if op in ("==", "!="):
                return self.compared_text(expr, id, value, op)
            case Compare(op, left, right) if op in RELATIONS:
                return self.applied(RELATIONS[op], [left, right], expr)
            case BoolOp(op, left, right):
                return self.applied(f"logical_{op}", [left, right], expr)
            case IfElse(body, condition, orelse):
                return self.applied("where", [condition, body, orelse], expr)
            case Call():
                return self.call(expr)
            case Index(Name(), (Dots(), *_)) | Index(Index() | Call() | Binary(), (Dots(), *_)):
                return self.placer.index(expr)
            case Binary("@"):
                raise self.error(f"a product of matrices is more than one pass over memory: {expr}", expr, _KERNEL)
            case Attribute():
                raise self.error(f"a formula computes with elements, not with sizes: {expr}", expr, "mean(x) divides")
        raise self.error(f"{expr} has no meaning in a formula", expr, "docs/formula.md lists what has")

    def name(self, expr: Expr, name: str) -> Node:
        found = self.names.get(name)
        if found is None:
            hint = did_you_mean(name, self.names) or f"there are {', '.join(self.names)}"
            known = f"an argument of {self.schema.full_name}, nor a part named before"
            raise self.error(f"'{name}' is not {known}", expr, hint)
        if isinstance(found, Scalar) and found.type == "str":
            raise self.error(f"'{name}' is a str, which can be compared only", expr, f"{name} == 'tanh'")
        return found

    def compared_text(self, expr: Expr, name: str, value: str, op: str) -> Node:
        found = self.names.get(name)
        if not isinstance(found, Scalar) or found.type != "str":
            raise self.error(f"only a str compares with a text: {expr}", expr)
        same = made(Text, name, value)
        return same if op == "==" else apply("logical_not", same)

    def applied(self, name: str, args: list[Expr], at: Expr) -> Node:
        return self.made(name, [self.value(arg) for arg in args], at)

    def made(self, name: str, args: list[Node], at: Expr) -> Node:
        if FUNCTIONS[name].takes_truth:
            args = [self.truth(arg, at) for arg in args]
        if name == "where":
            args[0] = self.truth(args[0], at)
        try:
            return apply(name, *args)
        except FormError:
            hint = "say keepdim=True where the axes are reduced, or expand_dims(...)"
            message = f"shapes do not go together: one part has lost axes that the other has, in {at}"
            raise self.error(message, at, hint) from None
        except CutError as error:
            raise self.error(
                f"one pass over memory does not give {error}, in {at}", at, two_operators(_before(at))
            ) from None

    def truth(self, node: Node, at: Expr) -> Node:
        """Return the node as a condition; a tensor used as a condition becomes a mask."""
        if node.is_truth:
            return node
        if isinstance(node, Tensor):
            self.names[node.name] = made(Tensor, node.name, node.placed, True)
            return made(Tensor, node.name, node.placed, True, node.cuts)
        return apply("not_equal", node, number(0))

    def call(self, expr: Call) -> Node:
        name = expr.name
        if name in _PUBLIC and name != "astype":
            if expr.kwargs or len(expr.args) != FUNCTIONS[name].arity:
                wanted = _values(FUNCTIONS[name].arity)
                raise self.error(f"{name}() takes {wanted}, got {len(expr.args) + len(expr.kwargs)}", expr)
            return self.applied(name, list(expr.args), expr)
        if name in _REDUCTIONS:
            return self.reduction(expr)
        if name == "astype":
            return self.cast(expr)
        if name == "expand_dims":
            return self.expanded(expr)
        if name in _COMPOSED:
            return self.composed(expr)
        if name in _SCANS:
            return self.scanned(expr)
        if name in _PLACED:
            return self.placer.call(expr)
        if name == "stack":
            raise self.error("stack() makes an axis, and a formula has those of its tensors alone", expr, _STACK)
        known = FORMULA_FUNCTIONS
        hint = did_you_mean(name, known) or "docs/formula.md lists the functions"
        if name in ARRAY_FUNCTIONS:
            raise self.error(
                f"{name}() is for gradients, and is not available in the kernel of a formula", expr, _KERNEL
            )
        raise self.error(f"unknown function '{name}'", expr, hint)

    def composed(self, expr: Call) -> Node:
        if expr.name == "clip":
            return self.clipped(expr)
        if expr.kwargs or len(expr.args) != 1:
            raise self.error(f"{expr.name}() takes one value", expr)
        x = self.value(expr.args[0])
        return apply("multiply", x, apply("sigmoid", x))

    def clipped(self, expr: Call) -> Node:
        bounds = dict(zip(("min", "max"), expr.args[1:], strict=False)) | dict(expr.kwargs)
        if not expr.args or not bounds or not bounds.keys() <= {"min", "max"}:
            raise self.error("clip() takes x, min and max", expr, "clip(x, 0, 6) or clip(x, min=0)")
        result = self.value(expr.args[0])
        for name, function in (("min", "clip_low"), ("max", "clip_high")):
            if name in bounds:
                result = self.made(function, [result, self.value(bounds[name])], expr)
        return result

    def reduction(self, expr: Call) -> Node:
        values: dict[str, Expr | None] = {"axis": None, "keepdim": None, "correction": None}
        names = ["axis", "keepdim"]
        for name, value in [*zip(names, expr.args[1:], strict=False), *expr.kwargs]:
            name = {"keepdims": "keepdim", "dim": "axis"}.get(name, name)
            if name not in values or (name == "correction" and expr.name not in ("var", "std")):
                raise self.error(f"{expr.name}() has no parameter '{name}'", value, "it takes x, axis and keepdim")
            values[name] = value
        if not expr.args or len(expr.args) > 3:
            raise self.error(f"{expr.name}() takes x, axis and keepdim", expr)
        x = self.value(expr.args[0])
        axes = self.axes(values["axis"])
        keepdim, degrees = values["keepdim"], values["correction"]
        keeps = isinstance(keepdim, Bool) and keepdim.value
        correction = degrees.value if isinstance(degrees, (Int, Float)) else 0
        return self.reduced(expr, x, axes, keeps, correction)

    def reduced(self, expr: Call, x: Node, axes: Axes, keeps: bool, correction: int | float) -> Node:
        if x.form.extent in (Extent.KEPT, Extent.DROPPED) and not (axes is None and expr.name in ("sum", "mean")):
            hint = "make it two operators, one for each pass"
            raise self.error(f"a second pass over what is reduced already: {expr}", expr, hint)
        if x.form.extent is Extent.CALL:
            raise self.error(f"{expr} reduces no tensor", expr)
        if isinstance(x, Join):
            message = f"one pass over memory does not reduce what is put together from parts: {expr}"
            raise self.error(message, expr, two_operators(expr.args[0]))
        if expr.name in ("any", "all"):
            ones = apply("where", self.truth(x, expr), number(1.0), number(0.0))
            return apply("greater", self.step(expr.name, ones, axes, keeps, expr), number(0.5))
        if x.is_truth:
            x = apply("where", x, number(1.0), number(0.0))
        if expr.name in ("softmax", "log_softmax"):
            logs, total = self.logarithms("largest", x, axes, True, expr)
            logs = apply("subtract", logs, total)
            return logs if expr.name == "log_softmax" else apply("exp", logs)
        if expr.name == "logsumexp":
            _, total = self.logarithms("shift", x, axes, keeps, expr)
            shift = reduce("shift", x, axes, True)
            return apply("add", total, shift if keeps else squeeze(shift))
        kind = "var" if expr.name == "std" else expr.name
        result = self.step(kind, x, axes, keeps, expr, correction)
        return apply("deviation", result) if expr.name == "std" else result

    def step(self, kind: str, x: Node, axes: Axes, keeps: bool, of: Expr, correction: int | float = 0) -> Node:
        result = reduce(kind, x, axes, keeps, correction)
        self.reductions[result] = of
        return result

    def logarithms(self, kind: str, x: Node, axes: Axes, keeps: bool, of: Expr) -> tuple[Node, Node]:
        """Return values minus their maximum, and the logarithm of the sum of their exponentials.

        Subtracting the maximum keeps every exponential from overflowing.
        """
        each = apply("subtract", x, self.step(kind, x, axes, True, of))
        return each, self.step("log_total", each, axes, keeps, of)

    def scanned(self, expr: Call) -> Node:
        given = [*expr.args[1:], *(value for name, value in expr.kwargs if name in ("axis", "dim"))]
        axes = self.axes(given[0]) if len(given) == 1 else None
        if len(expr.args) + len(expr.kwargs) != 2 or axes is None or len(axes) != 1:
            raise self.error(f"{expr.name}() takes x and one axis", expr, f"{expr.name}(x, -1)")
        x = self.value(expr.args[0])
        if isinstance(x, Join):
            message = f"one pass over memory does not add up what is put together from parts: {expr}"
            raise self.error(message, expr, two_operators(expr.args[0]))
        if x.form != GRID:
            raise self.error(f"{expr} adds up what has no such axis", expr, "it takes a tensor, or what has its axes")
        return scan(apply("where", x, number(1.0), number(0.0)) if x.is_truth else x, axes[0])

    def axes(self, expr: Expr | None) -> Axes:
        if expr is None:
            return None
        items = expr.items if isinstance(expr, ListOf) else (expr,)
        found = []
        for item in items:
            sign, item = (-1, item.operand) if isinstance(item, Unary) and item.op == "-" else (1, item)
            if not isinstance(item, Int):
                hint = "axis=-1 or axis=[-2, -1]; without it, all are reduced"
                raise self.error(f"expected the axes as numbers, got {expr}", expr, hint)
            found.append(sign * item.value)
        axes = tuple(sorted(set(found)))
        if len(axes) != len(found) or not axes or len(axes) > 8 or (axes[0] < 0 <= axes[-1]):
            raise self.error(f"expected different axes, counted from one end: {expr}", expr)
        return axes

    def cast(self, expr: Call) -> Node:
        if len(expr.args) != 2 or not isinstance(expr.args[1], Name) or expr.args[1].id not in DTYPE_CODES:
            raise self.error("astype() takes a value and a dtype", expr, "astype(x > 0, float32)")
        dtype = expr.args[1].id
        if dtype not in ("bool", *_FLOATS):
            raise self.error(f"a formula computes with floating-point numbers, not with {dtype}", expr, _KERNEL)
        value = self.value(expr.args[0])
        if dtype == "bool":
            return self.truth(value, expr)
        value = apply("where", value, number(1.0), number(0.0)) if value.is_truth else value
        return apply("astype", value, dtype=dtype)

    def expanded(self, expr: Call) -> Node:
        if len(expr.args) != 2:
            raise self.error("expand_dims() takes x and axis", expr)
        value, axes = self.value(expr.args[0]), self.axes(expr.args[1])
        if value.form.extent is not Extent.DROPPED or value.form.axes != axes:
            hint = "in a formula it restores the axes that a reduction dropped"
            raise self.error(f"{expr.args[0]} has not lost these axes", expr, hint)
        return expand(value)


_STACK = "interleave([x, y], -1) writes the same in the same order, without the axis: reshape what it returns"
_KERNEL = "write a kernel for it: opbridge new NAME --template cpp"


def two_operators(part: Expr) -> str:
    """Return the hint for a formula that needs a second pass."""
    return f"make it two operators: one with `formula: {part}`, and one that takes what it returns"


def _before(expr: Expr) -> Expr:
    """Return what must be computed before the rest: what is reduced, or else the first computed part."""
    parts = [node for node in expr.walk() if node is not expr and isinstance(node, (Call, Binary))]
    reduced = (node for node in parts if isinstance(node, Call) and node.name in (*_REDUCTIONS, *_SCANS))
    return next(reduced, parts[0] if parts else expr)


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"
