"""Print nodes as a formula of array functions, which every framework can run and differentiate again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType

from opbridge.waist.formulas.nodes import (
    GRID,
    Apply,
    Axes,
    Count,
    Expand,
    Extent,
    Form,
    Node,
    Number,
    Reduce,
    Scalar,
    Scan,
    Size,
    Squeeze,
    Tensor,
    Text,
    ordered,
)
from opbridge.waist.formulas.parser import OPERATORS, RELATIONS
from opbridge.waist.formulas.short_definitions import in_plain_functions
from opbridge.waist.formulas.summed_lengths import tensors_beside_reductions
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
    Str,
    Unary,
)

_SYMBOLS = {name: symbol for symbol, name in OPERATORS.items()}
_RELATIONS = {name: symbol for symbol, name in RELATIONS.items()}
_CONDITIONS: Mapping[str, Callable[..., Expr]] = {
    "logical_and": lambda a, b: BoolOp("and", a, b),
    "logical_or": lambda a, b: BoolOp("or", a, b),
    "logical_not": lambda a: Unary("not", a),
}
"""The operators for conditions that are not arrays."""


class ArrayText:
    """Prints nodes as text over arrays.

    `spelled` has the text of tensors that are more than a name. The tensors in `grid` together have the shape of the
    grid, each of those in `full` has it, and `alike` maps a tensor to another one of the same shape.
    """

    def __init__(
        self,
        spelled: Mapping[str, Expr],
        grid: tuple[str, ...],
        full: tuple[str, ...] = (),
        alike: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.spelled = spelled
        self.all = {*grid}
        self.grid = full[:1] or grid
        self.full = {*full} or {*(grid if len(grid) == 1 else ())}
        self.alike = alike

    def tensor(self, name: str) -> Expr:
        """Return the expression for a tensor."""
        return self.spelled.get(name) or Name(name)

    def part(self, node: Tensor) -> Expr:
        """Return the expression for a tensor node."""
        return self.tensor(node.name)

    def expression(self, root: Node) -> Expr:
        """Return the expression for a node."""
        found: dict[Node, Expr] = {}
        plain = in_plain_functions((root,))[root]
        for node in ordered((plain,)):
            found[node] = self.one(node, found)
        return found[plain]

    def whole_of(self, node: Node, text: Expr) -> Expr:
        """Return a value in the grid's shape, broadcast if it is computed from smaller tensors."""
        found = tensors_beside_reductions(node)
        names = {self.alike.get(name, name) for name in found}
        # An output's gradient or value is as large, where it is not that of an output of its own.
        is_given = any(name in self.spelled and name not in self.alike for name in found)
        is_whole = node.form == GRID and (is_given or names & self.full or names >= self.all)
        return text if is_whole else Call("broadcast_to", (text, self.shape()))

    def gradient(self, node: Node, name: str, form: Form) -> Expr:
        """Return the gradient of the operator's tensor `name`, of this form in the formula, in its shape."""
        value = self.expression(node)
        alone = form != GRID or name in self.full
        if alone and node.form == form and form != GRID:
            return value
        if alone:
            return self.whole_of(node, value) if form == GRID else Call("broadcast_to", (value, self.shape_of(name)))
        return Call("sum_to", (self.whole_of(node, value), self.shape_of(name)))

    def shape_of(self, name: str) -> Expr:
        """Return the shape of a named tensor as an expression."""
        return Attribute(self.tensor(name), "shape")

    def whole(self) -> Expr:
        """Return an array with the grid's shape."""
        return reduce(lambda a, b: Binary("+", a, b), map(self.tensor, self.grid))

    def shape(self) -> Expr:
        """Return the grid's shape."""
        return Attribute(self.whole(), "shape")

    def one(self, node: Node, found: Mapping[Node, Expr]) -> Expr:
        """Return the expression for a node whose inputs have theirs in `found`."""
        match node:
            case Number(value):
                return _literal(value)
            case Scalar(name):
                return Name(name)
            case Size(size):
                return size
            case Text(name, value):
                return Compare("==", Name(name), Str(value))
            case Tensor():
                return self.part(node)
            case Count(axes, of):
                return self.count(axes, of)
            case Expand(arg):
                return _expanded(found[arg], arg.form.axes)
            case Squeeze(arg) if arg.form.axes is None:
                return Call("reshape", (found[arg], ListOf(())))
            case Squeeze(arg):
                return Call("squeeze", (found[arg], _axes(arg.form.axes)))
            case Reduce(arg=arg):
                return _reduced(node, self.whole_of(arg, found[arg]) if arg.form == GRID else found[arg])
            case Scan(arg, axis, is_backward):
                return _scanned(self.whole_of(arg, found[arg]), axis_text(axis), is_backward)
            case Apply(function, args):
                return _applied(node, function, tuple(found[arg] for arg in args))
        raise TypeError(f"{type(node).__name__} has no text")

    def count(self, axes: Axes, of: Form) -> Expr:
        """Return the number of elements of this form along these axes."""
        whole = self.whole()
        if axes is None and of.extent is Extent.GRID:
            return Attribute(whole, "numel")
        if axes is None:
            return Binary("/", Attribute(whole, "numel"), self.count(of.axes, GRID))
        sizes: list[Expr] = [Index(Attribute(whole, "shape"), (axis_text(axis),)) for axis in axes]
        return reduce(lambda a, b: Binary("*", a, b), sizes)


def axis_text(value: int) -> Expr:
    """Return an axis as an expression."""
    return Int(value) if value >= 0 else Unary("-", Int(-value))


def _literal(value: int | float | bool) -> Expr:
    if isinstance(value, bool):
        return Bool(value)
    kind: Callable[[float], Expr] = Int if isinstance(value, int) else Float  # type: ignore[assignment]
    return kind(value) if math.copysign(1.0, value) > 0 else Unary("-", kind(-value))


def _expanded(value: Expr, axes: Axes) -> Expr:
    # Insert the axes nearest to their end first, so that each position is the one in the result.
    for axis in sorted(axes or (), key=abs):
        value = Call("expand_dims", (value, axis_text(axis)))
    return value


def _axes(axes: tuple[int, ...] | None) -> Expr:
    items = tuple(map(axis_text, axes or ()))
    return items[0] if len(items) == 1 else ListOf(items)


def _reduced(node: Reduce, arg: Expr) -> Expr:
    keywords: list[tuple[str, Expr]] = []
    axes = node.axes
    if axes is not None:
        keywords.append(("axis", _axes(axes)))
    if node.keeps:
        keywords.append(("keepdims", Bool(True)))
    if node.kind == "log_total":
        return Call("log", (Call("sum", (Call("exp", (arg,)),), tuple(keywords)),))
    if node.kind in ("largest", "shift"):
        return Call("max", (arg,), tuple(keywords))
    if node.kind in ("any", "all"):
        truth = Call(node.kind, (Compare("!=", arg, Int(0)),), tuple(keywords))
        return Call("where", (truth, Float(1.0), Float(0.0)))
    if node.kind == "var":
        keywords.append(("correction", _literal(node.correction)))
    return Call(node.kind, (arg,), tuple(keywords))


def _scanned(value: Expr, axis: Expr, is_backward: bool) -> Expr:
    if is_backward:
        return Call("flip", (_scanned(Call("flip", (value, axis)), axis, False), axis))
    return Call("cumulative_sum", (value, axis))


def _applied(node: Apply, function: str, args: tuple[Expr, ...]) -> Expr:
    if function in _SYMBOLS:
        return Binary(_SYMBOLS[function], *args)
    if function in _RELATIONS:
        return Compare(_RELATIONS[function], *args)
    if function == "negative":
        return Unary("-", *args)
    if function == "astype":
        return Call("astype", (*args, Name(node.dtype)))
    if function in _CONDITIONS and all(map(_is_number, node.args, args)):
        return _CONDITIONS[function](*args)
    if function == "where" and _is_number(node.args[0], args[0]):
        return IfElse(args[1], args[0], args[2])
    return Call(function, args)


def _is_number(node: Node, text: Expr) -> bool:
    """Return whether the expression evaluates to a plain number: functions of numbers return arrays."""
    return node.form.extent is Extent.CALL and not _calls(text)


def _calls(text: Expr) -> bool:
    return isinstance(text, Call) or any(map(_calls, text.children()))
