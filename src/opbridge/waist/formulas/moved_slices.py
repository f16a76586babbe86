"""Move slices down to the tensors, which are read in steps, and joins up to the outputs, which are written in steps.

Everything between them is computed in one pass over memory for each part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from opbridge.waist.formulas.nodes import (
    Apply,
    Count,
    Cut,
    Expand,
    Extent,
    Join,
    Node,
    Number,
    Reduce,
    Scan,
    Tensor,
    made,
    ordered,
    with_inputs,
)
from opbridge.waist.formulas.sizes import is_zero, minus, order, plus
from opbridge.waist.rules.syntax import Expr, Index, Int


class CutError(Exception):
    """Raised for a slice or join that cannot be moved, with the reason; the reader adds the place."""


def sliced(node: Node, cut: Cut) -> Node:
    """Return a part of a node; the part may be smaller and broadcast along the axis.

    Raises:
        CutError: The slice cannot be moved through the node.
    """
    if node.form.extent is Extent.CALL and not isinstance(node, Count):
        return node
    match node:
        case Tensor():
            return _tensor_cut(node, cut)
        case Apply(function, args, form, truth, dtype):
            return made(Apply, function, tuple(sliced(arg, cut) for arg in args), form, truth, dtype)
        case Reduce(kind, arg, axes, keeps, correction):
            if axes is not None and axes[0] < 0 and cut.axis not in axes and keeps:
                return made(Reduce, kind, sliced(arg, cut), axes, keeps, correction)
        case Expand(arg) if arg.form.axes is None or cut.axis in arg.form.axes:
            return node
        case Join(parts, cuts):
            return _join_cut(parts, cuts, cut)
    raise CutError("a slice of what is added up" if isinstance(node, Scan) else "a slice of what is reduced")


def _tensor_cut(node: Tensor, cut: Cut) -> Tensor:
    axes = node.form.axes
    if node.form.extent is not Extent.GRID:
        if node.form.extent is Extent.KEPT and (axes is None or cut.axis in axes):
            return node
        if node.form.extent is Extent.DROPPED or axes is None or axes[0] >= 0:
            raise CutError("a slice of what has lost axes")
    cuts = [*node.cuts]
    for place, first in enumerate(cuts):
        if first.axis == cut.axis:
            start = plus(first.start, cut.start, first.step)
            cuts[place] = Cut(cut.axis, start, cut.count, first.step * cut.step, first.whole)
            break
    else:
        cuts.append(cut)
    cuts.sort(key=lambda one: one.axis)
    return made(Tensor, node.name, node.form, node.is_mask, tuple(one for one in cuts if not _is_whole(one)))


def _is_whole(cut: Cut) -> bool:
    return is_zero(cut.start) and cut.step == 1 and cut.count == cut.whole


def _join_cut(parts: tuple[Node, ...], cuts: tuple[Cut, ...], cut: Cut) -> Node:
    axis = cuts[0].axis
    if cut.axis != axis:
        return join([sliced(part, cut) for part in parts], cuts)
    if cut in cuts:
        return parts[cuts.index(cut)]
    if cut.step == -1 and cut.count == cut.whole:
        flipped = [_mirrored(part, one) for part, one in zip(parts, cuts, strict=True)]
        return join([part for part, _ in reversed(flipped)], [one for _, one in reversed(flipped)])
    if cut.step != 1 or any(one.step != 1 for one in cuts):
        raise CutError("a slice of parts that are put together in other steps")
    end = plus(cut.start, cut.count)
    parts, cuts = _refined(parts, cuts, [cut.start, end])
    inside = [
        (part, Cut(axis, minus(one.start, cut.start), one.count, 1, cut.count))
        for part, one in zip(parts, cuts, strict=True)
        if _is_before(cut.start, one.start, one.whole) and _is_before(plus(one.start, one.count), end, one.whole)
    ]
    return join([part for part, _ in inside], [one for _, one in inside])


def _mirrored(part: Node, cut: Cut) -> tuple[Node, Cut]:
    """Return the part and its place if the whole is read from its end."""
    own = Cut(cut.axis, minus(cut.count, Int(1)), cut.count, -1, cut.count)
    last = plus(cut.start, minus(cut.count, Int(1)), cut.step)
    return sliced(part, own), Cut(cut.axis, minus(minus(cut.whole, Int(1)), last), cut.count, cut.step, cut.whole)


def join(parts: Sequence[Node], cuts: Sequence[Cut]) -> Node:
    """Return the parts put together, or the only part."""
    if len(parts) == 1:
        return parts[0]
    return made(Join, tuple(parts), tuple(cuts))


def scattered(node: Node, cut: Cut) -> Node:
    """Return the inverse of `sliced`: the part with zeros around it.

    Raises:
        CutError: The part is a slice of a slice with other steps.
    """
    if cut.count == cut.whole:
        return sliced(node, cut)  # a reversal is its own inverse
    zero = made(Number, 0)
    if cut.step == 1:
        end = plus(cut.start, cut.count)
        pieces = [(zero, Int(0), cut.start), (node, cut.start, cut.count), (zero, end, minus(cut.whole, end))]
        kept = [(part, start, count) for part, start, count in pieces if not is_zero(count)]
        return join([part for part, _, _ in kept], [Cut(cut.axis, a, n, 1, cut.whole) for _, a, n in kept])
    if cut.step > 1 and isinstance(cut.start, Int) and cut.start.value < cut.step:
        places = [Cut(cut.axis, Int(k), cut.count, cut.step, cut.whole) for k in range(cut.step)]
        return join([node if one == cut else zero for one in places], places)
    raise CutError("a slice of a slice in other steps")


def with_one_size(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the graph with one name for the size of each tensor's axis, even if it is sliced like several others.

    These sizes must be equal along the axis; a kernel refuses others.
    """
    names: dict[tuple[str, int], Expr] = {}
    same: dict[Expr, Expr] = {}

    def resolved(size: Expr) -> Expr:
        while size in same:
            size = same[size]
        return size

    tensors = [node for node in ordered(roots) if isinstance(node, Tensor)]
    for name, cut in ((node.name, cut) for node in tensors for cut in node.cuts):
        whole = resolved(cut.whole)
        first = resolved(names.setdefault((name, cut.axis), whole))
        if whole != first and isinstance(whole, Index):
            same[whole] = first

    def size(expr: Expr) -> Expr:
        return plus(expr.rewritten(resolved), Int(0))

    def renamed(cuts: tuple[Cut, ...]) -> tuple[Cut, ...]:
        return tuple(Cut(cut.axis, size(cut.start), size(cut.count), cut.step, size(cut.whole)) for cut in cuts)

    found: dict[Node, Node] = {}
    for node in ordered(roots) if same else ():
        inputs = tuple(found[part] for part in node.inputs)
        match node:
            case Tensor(name, placed, is_mask, cuts):
                found[node] = made(Tensor, name, placed, is_mask, renamed(cuts))
            case Join(_, cuts):
                found[node] = made(Join, inputs, renamed(cuts))
            case _:
                found[node] = with_inputs(node, found)
    return tuple(found.get(root, root) for root in roots)


def through_joins(name: str, args: tuple[Node, ...], make: Callable[[tuple[Node, ...]], Node]) -> Node:
    """Apply an elementwise function to arguments that are joins of parts: return the join of the function of each part.

    Raises:
        CutError: The parts have different steps, or their order is unknown.
    """
    cuts = next(arg.cuts for arg in args if isinstance(arg, Join))
    same_axis = [arg for arg in args if isinstance(arg, Join) and arg.cuts[0].axis == cuts[0].axis]
    if any(arg.cuts != cuts for arg in same_axis):
        if any(one.step != 1 for arg in same_axis for one in arg.cuts):
            raise CutError("parts that are put together in different steps")
        places = [one.start for arg in same_axis for one in arg.cuts]
        cuts = _refined(same_axis[0].parts, cuts, places)[1]
    parts = []
    for one in cuts:
        of_part = tuple(sliced(arg, one) for arg in args)
        parts.append(_zero_kept(name, of_part) or make(of_part))
    return join(parts, cuts)


def _zero_kept(name: str, args: tuple[Node, ...]) -> Node | None:
    """Return zero if a zero around a slice is multiplied, divided or negated; else None.

    The gradient around a slice is zero, whatever it is multiplied with.
    """

    def is_zero_number(node: Node) -> bool:
        return isinstance(node, Number) and node.value == 0 and not node.is_truth

    is_product = name == "multiply" and any(map(is_zero_number, args))
    if is_product or (name in ("divide", "negative") and is_zero_number(args[0])):
        return made(Number, 0)
    return None


def _refined(
    parts: Sequence[Node], cuts: Sequence[Cut], places: Sequence[Expr]
) -> tuple[tuple[Node, ...], tuple[Cut, ...]]:
    """Return the same parts, divided additionally at each of `places`."""
    axis, whole = cuts[0].axis, cuts[0].whole
    found_parts: list[Node] = []
    found_cuts: list[Cut] = []
    for part, cut in zip(parts, cuts, strict=True):
        end = plus(cut.start, cut.count)
        inner = {place for place in places if _is_inside(cut.start, place, end, whole)}
        starts = sorted([cut.start, *inner, end], key=_by_place(whole))
        for first, last in pairwise(starts):
            own = Cut(axis, minus(first, cut.start), minus(last, first), 1, cut.count)
            found_parts.append(part if not inner else sliced(part, own))
            found_cuts.append(Cut(axis, first, own.count, 1, whole))
    return tuple(found_parts), tuple(found_cuts)


def _by_place(whole: Expr) -> Callable[[Expr], Any]:
    def compared(a: Expr, b: Expr) -> int:
        return _compared(a, b, whole)

    return cmp_to_key(compared)


def _is_inside(start: Expr, place: Expr, end: Expr, whole: Expr) -> bool:
    return start != place != end and _compared(start, place, whole) < 0 < _compared(end, place, whole)


def _is_before(first: Expr, second: Expr, whole: Expr) -> bool:
    return first == second or _compared(first, second, whole) < 0


def _compared(a: Expr, b: Expr, whole: Expr) -> int:
    if a == b:
        return 0
    one, two = order(a, whole), order(b, whole)
    if one is None or two is None:
        raise CutError(f"parts that begin at {a} and at {b}, of which no size says which comes first")
    return -1 if one < two else 1
