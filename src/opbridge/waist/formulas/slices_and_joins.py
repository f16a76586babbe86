"""Read slices and functions that put parts together in a formula: `x[..., ::2]`, `concat([x, y], -1)`."""

from __future__ import annotations

from typing import Protocol

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.moved_slices import CutError, join, sliced
from opbridge.waist.formulas.nodes import GRID, Cut, Join, Node, Tensor, ordered
from opbridge.waist.formulas.sizes import minus, plus
from opbridge.waist.rules.syntax import Attribute, Binary, Call, Expr, Index, Int, ListOf, Name, Slice, Unary
from opbridge.waist.schema import Schema

_OF_SIZES = ("+", "-", "*", "//")
_INTS = ("int", "SymInt")
_FIRST = "slice the tensors before they are reduced, or make it two operators"


class Reader(Protocol):
    """The interface of the formula's reader."""

    schema: Schema

    def value(self, expr: Expr) -> Node:
        """Return the node of an expression."""

    def error(self, message: str, at: int | Expr, hint: str = "") -> RuleError:
        """Return an error at a place in the formula."""


class Placer:
    """Read the slices, joins and sizes in a formula."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.sizes: dict[str, Expr] = {}
        """The sizes that have names in the formula."""

    def is_size(self, expr: Expr) -> bool:
        """Return whether an expression is a size that cannot be a value, because it uses a shape."""
        looks = any(
            (isinstance(node, Attribute) and node.name == "shape") or (isinstance(node, Name) and node.id in self.sizes)
            for node in expr.walk()
        )
        return looks and self._is_of_sizes(expr)

    def _is_of_sizes(self, expr: Expr) -> bool:
        match expr:
            case Name(id):
                return id in self.sizes or id in self._ints()
            case Unary("-", operand):
                return self._is_of_sizes(operand)
            case Binary(op, left, right):
                return op in _OF_SIZES and self._is_of_sizes(left) and self._is_of_sizes(right)
        return isinstance(expr, Int) or (isinstance(expr, Index) and isinstance(expr.value, Attribute))

    def _ints(self) -> set[str]:
        return {item.name for item in self.reader.schema.attributes if str(item.type) in _INTS}

    def size(self, expr: Expr) -> Expr:
        """Return a size in a normal form, with names replaced.

        Raises:
            RuleError: The expression is not a size.
        """
        match expr:
            case Int():
                return expr
            case Name(id) if id in self.sizes:
                return self.sizes[id]
            case Name(id) if id in self._ints():
                return Name(id)
            case Unary("-", operand):
                return minus(Int(0), self.size(operand))
            case Binary("+" | "-" as op, left, right):
                return plus(self.size(left), self.size(right), 1 if op == "+" else -1)
            case Binary("*" | "//" as op, left, right):
                return plus(Binary(op, self.size(left), self.size(right)), Int(0))
            case Index(Attribute(Name(id), "shape"), (Int() | Unary("-", Int()),)) if self._is_tensor(id):
                return expr
        hint = "it may be a number, an int argument, x.shape[-1], and what + - * // make of them"
        raise self.reader.error(f"expected a size, got {expr}", expr, hint)

    def _is_tensor(self, name: str) -> bool:
        return name in {argument.name for argument in self.reader.schema.tensor_arguments}

    def index(self, expr: Index) -> Node:
        """Return the node of `x[..., a:b, ::2]`: one slice for each of the last axes."""
        node = self.reader.value(expr.value)
        if node.form != GRID:
            raise self.reader.error(
                f"one pass over memory does not give a slice of what is reduced: {expr}", expr, _FIRST
            )
        slices = expr.items[1:]
        for place, item in enumerate(slices):
            if not isinstance(item, Slice):
                hint = "after `...`, one slice for each of the last axes: x[..., ::2], x[..., 1:, :]"
                raise self.reader.error(f"expected a slice, got {item}", item, hint)
            if item != Slice(None, None, None):
                node = self.sliced(node, self.cut(item, size_of(node, place - len(slices)), place - len(slices)), expr)
        return node

    def cut(self, item: Slice, whole: Expr, axis: int) -> Cut:
        """Return a slice of an axis with `whole` places."""
        step = item.step or Int(1)
        if step == Unary("-", Int(1)) and item.start is None and item.stop is None:
            return _reversed(axis, whole)
        if not isinstance(step, Int) or step.value < 1:
            raise self.reader.error(f"expected a step of 1 or more, got {step}", item, "x[..., ::-1] goes backwards")
        start = self.bound(item.start, Int(0), whole)
        if step.value == 1:
            return Cut(axis, start, minus(self.bound(item.stop, whole, whole), start), 1, whole)
        if item.stop is not None or not isinstance(start, Int) or start.value >= step.value:
            hint = f"x[..., k::{step}] takes every {step.value}th place, from one of the first {step.value} on"
            raise self.reader.error(f"a slice in steps has one of its first places, and no end: {item}", item, hint)
        return Cut(axis, start, plus(Binary("//", whole, step), Int(0)), step.value, whole)

    def bound(self, expr: Expr | None, default: Expr, whole: Expr) -> Expr:
        """Return the start or end of a slice; a negative one counts from the end."""
        if expr is None:
            return default
        size = self.size(expr)
        return plus(whole, size) if isinstance(size, Unary) and size.op == "-" else size

    def sliced(self, node: Node, cut: Cut, at: Expr) -> Node:
        """Return a part of a node, or raise a RuleError if one pass over memory cannot compute it."""
        try:
            return sliced(node, cut)
        except CutError as error:
            raise self.reader.error(f"one pass over memory does not give {error}: {at}", at, _FIRST) from None

    def call(self, expr: Call) -> Node:
        """Return the node of concat(), interleave(), flip() or roll()."""
        given = dict(expr.kwargs)
        if expr.name in ("concat", "cat", "interleave"):
            return self.together(expr, self.axis(expr, given, 1))
        if expr.name == "flip":
            axis = self.axis(expr, given, 1)
            node = self.reader.value(expr.args[0])
            return self.sliced(node, _reversed(axis, size_of(node, axis)), expr)
        return self.rolled(expr, given)

    def axis(self, expr: Call, given: dict[str, Expr], place: int) -> int:
        """Return the axis argument of a call, which must be negative."""
        spelled = expr.args[place] if len(expr.args) > place else given.get("axis", given.get("dim"))
        match spelled:
            case Unary("-", Int(value)) if expr.args and 0 < value <= 8:
                return -value
        example = {"roll": "roll(x, 1, -1)", "flip": "flip(x, -1)"}.get(expr.name, f"{expr.name}([x, y], -1)")
        hint = f"axes are counted from the end here: {example}"
        raise self.reader.error(f"{expr.name}() takes one axis, below 0", expr, hint)

    def together(self, expr: Call, axis: int) -> Node:
        """Return the node of concat() or interleave()."""
        items = expr.args[0]
        if not isinstance(items, ListOf) or not items.items:
            raise self.reader.error(f"{expr.name}() takes a list: {expr}", expr, f"{expr.name}([x, y], -1)")
        parts = [self.reader.value(item) for item in items.items]
        for part, item in zip(parts, items.items, strict=True):
            if part.form != GRID or part.is_truth:
                hint = "it may be a tensor, or a value computed from each of its elements"
                raise self.reader.error(f"{item} is not part of {expr.name}()", item, hint)
        counts = [size_of(part, axis) for part in parts]
        places: list[Expr] = [Int(0)]
        for count in counts:
            places.append(plus(places[-1], count))
        whole = places[-1]
        if expr.name == "interleave":
            number = len(parts)
            return join(parts, [Cut(axis, Int(place), counts[0], number, whole) for place in range(number)])
        return join(parts, [Cut(axis, a, n, 1, whole) for a, n in zip(places[:-1], counts, strict=True)])

    def rolled(self, expr: Call, given: dict[str, Expr]) -> Node:
        """Return the node of roll()."""
        axis = self.axis(expr, given, 2)
        shift = expr.args[1] if len(expr.args) > 1 else given.get("shift")
        if shift is None:
            raise self.reader.error("roll() takes x, shift and axis", expr, "roll(x, 1, -1)")
        node, by = self.reader.value(expr.args[0]), self.size(shift)
        whole = size_of(node, axis)
        first = minus(Int(0), by) if isinstance(by, Unary) else minus(whole, by)
        rest = minus(whole, first)
        tail = self.sliced(node, Cut(axis, first, rest, 1, whole), expr)
        head = self.sliced(node, Cut(axis, Int(0), first, 1, whole), expr)
        return join([tail, head], [Cut(axis, Int(0), rest, 1, whole), Cut(axis, rest, first, 1, whole)])


def _reversed(axis: int, whole: Expr) -> Cut:
    return Cut(axis, minus(whole, Int(1)), whole, -1, whole)


def size_of(node: Node, axis: int) -> Expr:
    """Return the size of a node along an axis, which is counted from the end."""
    if isinstance(node, Join):
        return node.cuts[0].whole if node.cuts[0].axis == axis else size_of(node.parts[0], axis)
    tensors = [part for part in ordered((node,)) if isinstance(part, Tensor) and part.form == GRID]
    counts = {cut.count for tensor in tensors for cut in tensor.cuts if cut.axis == axis}
    if counts:
        return min(counts, key=str)
    whole = sorted({tensor.name for tensor in tensors})
    at = (Int(axis) if axis >= 0 else Unary("-", Int(-axis)),)
    if len(whole) == 1:
        return Index(Attribute(Name(whole[0]), "shape"), at)
    return Index(Call("broadcast", tuple(map(Name, whole))), at)
