"""Short texts over nodes: what functions are made of, and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from opbridge.waist.formulas.functions import FUNCTIONS
from opbridge.waist.formulas.make_nodes import apply, number, reduce
from opbridge.waist.formulas.nodes import Apply, Axes, Node, Number, ordered, with_inputs
from opbridge.waist.formulas.parser import OPERATORS, RELATIONS
from opbridge.waist.rules.parser import parse_expression
from opbridge.waist.rules.syntax import Binary, Call, Compare, Expr, Float, Int, Name, Unary


def in_plain_functions(roots: tuple[Node, ...]) -> dict[Node, Node]:
    """Rewrite the nodes below these into functions that devices provide."""
    plain: dict[Node, Node] = {}
    for node in ordered(roots):
        plain[node] = _in_plain_function(with_inputs(node, plain))
    return plain


def _in_plain_function(node: Node) -> Node:
    meaning = FUNCTIONS[node.function].meaning if isinstance(node, Apply) else ""
    return value_of(meaning, dict(zip("xyz", node.inputs, strict=False))) if meaning else node


def value_of(text: str, names: Mapping[str, Node], axes: Axes = None) -> Node:
    """Return the value of the text; its reductions go along these axes."""
    return _evaluated(_parsed(text), names, axes)


@cache
def _parsed(text: str) -> Expr:
    return parse_expression(text)


def _evaluated(expr: Expr, names: Mapping[str, Node], axes: Axes) -> Node:
    match expr:
        case Int(value) | Float(value):
            return number(value)
        case Name(id):
            return names[id]
        case Unary(_, operand):
            return apply("negative", _evaluated(operand, names, axes))
        case Binary(op, left, right):
            return apply(OPERATORS[op], _evaluated(left, names, axes), _evaluated(right, names, axes))
        case Compare(op, left, right):
            return apply(RELATIONS[op], _evaluated(left, names, axes), _evaluated(right, names, axes))
        case Call("sum" | "mean" as kind, (arg,)):
            return reduce(kind, _evaluated(arg, names, axes), axes, True)
        case Call("where", args):
            condition, first, second = (_evaluated(arg, names, axes) for arg in args)
            if isinstance(condition, Number):
                return first if condition.value else second
            return apply("where", condition, first, second)
        case Call(name, args):
            return apply(name, *(_evaluated(arg, names, axes) for arg in args))
    raise TypeError(f"{expr} is not a derivative")
