"""Make nodes: determine their form, and omit operations that change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

from opbridge.waist.formulas.functions import FUNCTIONS
from opbridge.waist.formulas.moved_slices import CutError, through_joins
from opbridge.waist.formulas.nodes import (
    CALL,
    Apply,
    Axes,
    Count,
    Expand,
    Extent,
    Form,
    Join,
    Node,
    Number,
    Reduce,
    Scan,
    Squeeze,
    Tensor,
    made,
)


class FormError(Exception):
    """Raised if two forms cannot be combined; the reader adds the place and a hint."""


_FOLDED: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a: -a,
    "sqrt": math.sqrt,
    "pow": lambda a, b: a**b,
    "equal": lambda a, b: a == b,
}


def number(value: int | float | bool) -> Number:
    """Return the node of a number."""
    return made(Number, value)


def joined(forms: list[Form]) -> Form:
    """Return the form of an elementwise function of values with these forms.

    Raises:
        FormError: The forms cannot be combined.
    """
    result = CALL
    for form in forms:
        if form == result or form is CALL or (form.is_total and result.extent is not Extent.CALL):
            continue
        if result.extent is Extent.CALL or result.is_total:
            result = form
        elif Extent.DROPPED in (form.extent, result.extent):
            raise FormError
        else:
            result = Form(Extent.GRID)
    return result


def apply(name: str, *args: Node, dtype: str = "") -> Node:
    """Return an elementwise function of nodes, simplified if possible.

    Raises:
        FormError: The forms of the arguments cannot be combined.
        CutError: Arguments made of parts cannot be combined.
    """
    if any(isinstance(arg, Join) for arg in args):
        return through_joins(name, args, lambda parts: apply(name, *parts, dtype=dtype))
    simpler = _simplified(name, args)
    if simpler is not None:
        return simpler
    function = FUNCTIONS[name]
    args = _aligned(args)
    truth = function.is_truth or dtype == "bool" or (name == "where" and args[1].is_truth and args[2].is_truth)
    return made(Apply, name, args, joined([arg.form for arg in args]), truth, dtype)


def plus(a: Node, b: Node) -> Node:
    """Add two parts of a gradient; an absent part adds nothing, since `x + 0` would change the sign of a zero."""
    if isinstance(a, Join) or isinstance(b, Join):
        return through_joins("add", (a, b), lambda parts: plus(*parts))
    for part, other in ((a, b), (b, a)):
        if part is number(0) and not other.is_truth:
            return other
    return apply("add", a, b)


def reduce(kind: str, arg: Node, axes: Axes, keeps: bool, correction: int | float = 0) -> Node:
    """Return a reduction along axes.

    Raises:
        CutError: The argument is put together from parts.
    """
    if isinstance(arg, Join):
        raise CutError("a reduction over parts that are put together")
    return made(Reduce, kind, arg, axes, keeps, correction)


def scan(arg: Node, axis: int, is_backward: bool = False) -> Node:
    """Return the cumulative sums along an axis.

    Raises:
        CutError: The argument is put together from parts.
    """
    if isinstance(arg, Join):
        raise CutError("a scan of parts that are put together")
    return made(Scan, arg, axis, is_backward)


def expand(arg: Node) -> Node:
    """Return the node with axes of size 1 in place of those it has lost."""
    if isinstance(arg, Squeeze):
        return arg.arg
    return made(Expand, arg) if arg.form.extent is Extent.DROPPED else arg


def squeeze(arg: Node) -> Node:
    """Return the node without its axes of size 1."""
    if isinstance(arg, Expand):
        return arg.arg
    return made(Squeeze, arg) if arg.form.extent is Extent.KEPT else arg


def count(axes: Axes, of: Form) -> Node:
    """Return the number of elements of this form along these axes."""
    return made(Count, axes, of)


def _aligned(args: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the arguments; tensors next to one without some axes become tensors that never had those axes."""
    lost = next((arg.form for arg in args if arg.form.extent is Extent.DROPPED and not arg.form.is_total), None)
    if lost is None:
        return args
    return tuple(_without(arg, lost) if arg.form.extent is Extent.GRID else arg for arg in args)


def _without(node: Node, form: Form) -> Node:
    if node.form.extent is Extent.CALL:
        return node
    if isinstance(node, Tensor) and node.form.extent is Extent.GRID and not node.cuts:
        return made(Tensor, node.name, form, node.is_mask)
    if isinstance(node, Apply) and node.form.extent is Extent.GRID:
        args = tuple(_without(arg, form) for arg in node.args)
        return made(Apply, node.function, args, form, node.truth, node.dtype)
    raise FormError


def _simplified(name: str, args: tuple[Node, ...]) -> Node | None:
    values = [arg.value if isinstance(arg, Number) else None for arg in args]
    if name in _FOLDED and None not in values:
        try:
            folded = _FOLDED[name](*values)
            return number(folded) if isinstance(folded, (int, float)) and math.isfinite(folded) else None
        except (ArithmeticError, ValueError):
            return None
    if name in ("multiply", "divide", "pow") and values[1] == 1 and not args[0].is_truth:
        return args[0]
    if name == "multiply" and values[0] == 1 and not args[1].is_truth:
        return args[1]
    if name == "pow" and values[1] in _POWERS and not args[0].is_truth:
        return apply(_POWERS[values[1]], args[0])
    return _negated(name, args)


_POWERS = {2: "square", 0.5: "sqrt", -1: "reciprocal", -0.5: "rsqrt"}


def _negated(name: str, args: tuple[Node, ...]) -> Node | None:
    """Move a minus outwards, where it may cancel another one or become a subtraction."""

    def positive(node: Node) -> Node | None:
        return node.args[0] if isinstance(node, Apply) and node.function == "negative" else None

    first, second = positive(args[0]), positive(args[1]) if len(args) == 2 else None
    if name == "negative" and first is not None:
        return first
    if name in ("multiply", "divide") and (first is not None or second is not None):
        result = apply(name, first or args[0], second or args[1])
        return result if first is not None and second is not None else apply("negative", result)
    if name == "add" and second is not None:
        return apply("subtract", args[0], second)
    if name == "subtract" and second is not None:
        return apply("add", args[0], second)
    return None
