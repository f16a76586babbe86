"""Print formulas that contain parts of tensors as array functions: slices, and arrays with zeros around a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

from opbridge.waist.formulas.array_text import ArrayText, axis_text
from opbridge.waist.formulas.moved_slices import CutError
from opbridge.waist.formulas.nodes import GRID, Cut, Node, Tensor, ordered
from opbridge.waist.formulas.sizes import is_zero, minus, plus
from opbridge.waist.formulas.summed_lengths import tensors_beside_reductions
from opbridge.waist.rules.syntax import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Dots,
    Expr,
    IfElse,
    Index,
    Int,
    ListOf,
    Name,
    Slice,
    Unary,
)


class PartText(ArrayText):
    """Print what is computed from `roots`, whose parts all have one shape.

    `full` names tensors with the shape of all of them together. `alike` maps a tensor to another that has the same
    shape.
    """

    def __init__(
        self, spelled: Mapping[str, Expr], roots: Iterable[Node], full: Iterable[str], alike: Mapping[str, str]
    ) -> None:
        tensors = [node for node in ordered(tuple(roots)) if isinstance(node, Tensor) and node.form == GRID]
        names = tuple(dict.fromkeys(node.name for node in tensors))
        super().__init__(spelled, names, tuple(name for name in names if name in {*full}))
        self.alike = alike
        self.is_alone = len(tensors) == 1
        self.tensors = [node for node in tensors if node.name in self.full][:1] or tensors

    def whole(self) -> Expr:
        """Return an array with the shape of the parts."""
        return reduce(lambda a, b: Binary("+", a, b), map(self.part, self.tensors))

    def part(self, node: Tensor) -> Expr:
        """Return the slice of a tensor."""
        return self._sliced(node, node.cuts)

    def gradient_of_part(self, value: Node, node: Tensor) -> Expr:
        """Return the gradient of a part of a tensor, in the part's shape."""
        text, shape = self.expression(value), Attribute(self.part(node), "shape")
        if node.form != GRID:
            return text if value.form == node.form else Call("broadcast_to", (text, shape))
        shaping = {*tensors_beside_reductions(value)}
        if value.form != GRID or not (shaping & {*self.full} or shaping >= {*self.grid}):
            text = Call("broadcast_to", (text, self.shape()))
        return text if self.is_alone or node.name in self.full else Call("sum_to", (text, shape))

    def beside_zeros(self, value: Expr, node: Tensor) -> Expr:
        """Return the value of the part `node` with zeros around it, in the shape of the whole tensor."""
        for place in reversed(range(len(node.cuts))):
            value = self._spread(value, self._sliced(node, node.cuts[:place]), node, node.cuts[place])
        return value

    def _sliced(self, node: Tensor, cuts: tuple[Cut, ...]) -> Expr:
        if not cuts:
            return self.tensor(node.name)
        *others, cut = cuts
        whole = self._sliced(node, tuple(others))
        text = whole if _is_reversal(cut) else self._slice(whole, cut, _lowest(cut), _end(cut), abs(cut.step))
        if cut.step < 0:
            text = Call("flip", (text, axis_text(cut.axis)))
        return self._where_long(node, cut, text, whole)

    def _where_long(self, node: Tensor, cut: Cut, text: Expr, otherwise: Expr) -> Expr:
        """Return the text, with `otherwise` for tensors that have size 1 or no such axis, and so broadcast."""
        if node.name in self.full or cut.whole == _length(Name(self.alike.get(node.name, node.name)), cut.axis):
            return text
        whole = self.tensor(node.name)
        has_axis = Compare(">=", Attribute(whole, "ndim"), Int(-cut.axis))
        is_long = Compare("==", _length(whole, cut.axis), self._size(cut.whole))
        return IfElse(text, BoolOp("and", has_axis, is_long), otherwise)

    def _spread(self, value: Expr, whole: Expr, node: Tensor, cut: Cut) -> Expr:
        axis, step, first = axis_text(cut.axis), abs(cut.step), _lowest(cut)
        each = Call("flip", (value, axis)) if cut.step < 0 else value
        if _is_reversal(cut):
            text = each
        elif step == 1:
            text = Call("concat", (ListOf(tuple(self._padded(each, whole, cut))), axis))
        elif isinstance(first, Int) and first.value < step:
            zero = Call("zeros_like", (each,))
            places = tuple(each if place == first.value else zero for place in range(step))
            text = Call("reshape", (Call("stack", (ListOf(places), axis)), Attribute(whole, "shape")))
        else:
            raise CutError("a slice of a slice in other steps")
        return self._where_long(node, cut, text, value)

    def _padded(self, value: Expr, whole: Expr, cut: Cut) -> Iterator[Expr]:
        if not is_zero(_lowest(cut)):
            yield Call("zeros_like", (self._slice(whole, cut, Int(0), _lowest(cut), 1),))
        yield value
        if _end(cut) != cut.whole:
            yield Call("zeros_like", (self._slice(whole, cut, _end(cut), cut.whole, 1),))

    def _slice(self, whole: Expr, cut: Cut, start: Expr, end: Expr, step: int) -> Expr:
        is_last = minus(end, start if step > 1 else Int(0)) == cut.whole
        bounds = Slice(
            None if is_zero(start) else self._size(start),
            None if is_last else self._size(end),
            Int(step) if step > 1 else None,
        )
        return Index(whole, (Dots(), bounds, *(Slice(None, None, None) for _ in range(-cut.axis - 1))))

    def _size(self, size: Expr) -> Expr:
        """Return a size as array functions write it."""

        def spelled(expr: Expr) -> Expr:
            match expr:
                case Call("broadcast", args):
                    total = reduce(lambda a, b: Binary("+", a, b), args)
                    return Attribute(total, "shape")
            return expr

        return size.rewritten(spelled)


def _is_reversal(cut: Cut) -> bool:
    return cut.step == -1 and cut.count == cut.whole


def _lowest(cut: Cut) -> Expr:
    return cut.start if cut.step > 0 else plus(cut.start, minus(cut.count, Int(1)), cut.step)


def _end(cut: Cut) -> Expr:
    return plus(cut.start, cut.count, cut.step) if cut.step > 0 else plus(cut.start, Int(1))


def _length(whole: Expr, axis: int) -> Expr:
    return Index(Attribute(whole, "shape"), (Unary("-", Int(-axis)),))
