"""Derive gradients symbolically, from the outputs back to each tensor, with the derivative of every function."""

from __future__ import annotations

from collections.abc import Mapping

from opbridge.waist.formulas.functions import FUNCTIONS, REDUCTIONS
from opbridge.waist.formulas.make_nodes import apply, count, expand, number, plus, reduce, scan, squeeze
from opbridge.waist.formulas.nodes import Apply, Expand, Extent, Form, Node, Reduce, Scan, Squeeze, Tensor, ordered
from opbridge.waist.formulas.short_definitions import value_of

_NOTHING = number(0)


def gradients(outputs: Mapping[Node, Node]) -> dict[Tensor, Node]:
    """Return the gradient of each tensor, before it is summed to the tensor's shape.

    `outputs` maps outputs to their gradients. Tensors that affect no output are not in the result.
    """
    found: dict[Node, Node] = dict(outputs)
    order = ordered(tuple(outputs))
    for node in reversed(order):
        if node in found and not node.is_truth:
            for child, part in _parts(node, found[node]):
                if (
                    part is not None
                    and part is not _NOTHING
                    and not child.is_truth
                    and child.form.extent is not Extent.CALL
                ):
                    summed = _extended(_summed(part, node.form, child.form), child.form)
                    found[child] = plus(found[child], summed) if child in found else summed
    return {node: found[node] for node in order if isinstance(node, Tensor) and node in found and not node.is_truth}


def seeded(value: Node, seed: Node) -> Node:
    """Return the gradient of an output in the form of its value, which may be broadcast to the output."""
    return _extended(_summed(seed, seed.form, value.form), value.form)


def _parts(node: Node, grad: Node) -> list[tuple[Node, Node | None]]:
    """Return the gradient of each input of a node, in the node's own form."""
    if isinstance(node, Apply):
        names = dict(zip("xyz", node.args, strict=False)) | {"g": grad, "r": node}
        texts = FUNCTIONS[node.function].derivatives
        return [(arg, value_of(text, names) if text else None) for arg, text in zip(node.args, texts, strict=True)]
    if isinstance(node, (Expand, Squeeze)):
        return [(node.arg, grad)]
    if isinstance(node, Scan):
        return [(node.arg, scan(grad, node.axis, not node.is_backward))]
    if isinstance(node, Reduce):
        # A reduction's part is in the form of its argument, which receives it.
        names = {
            "x": node.arg,
            "r": expand(node),
            "g": expand(grad),
            "n": count(node.axes, node.arg.form),
            "correction": number(node.correction),
        }
        text = REDUCTIONS[node.kind]
        return [(node.arg, value_of(text, names, node.axes) if text else None)]
    return []


def _summed(part: Node, form: Form, wanted: Form) -> Node:
    """Return a part of a gradient summed to the form of the node that receives it, which may have been broadcast."""
    if form == wanted or wanted.extent is Extent.GRID or _is_below(form, wanted):
        return part
    axes = wanted.axes
    if part.form == form:
        return reduce("sum", part, axes, wanted.extent is Extent.KEPT)
    if part.form.axes != axes and not part.form.is_total:
        each = apply("multiply", part, count(part.form.axes, form))
        return reduce("sum", each, axes, wanted.extent is Extent.KEPT)
    return apply("multiply", part, count(axes, form))


def _extended(part: Node, wanted: Form) -> Node:
    """Return the part with or without its reduced axes, as the node that receives it."""
    if part.form.axes != wanted.axes or wanted.extent is Extent.GRID:
        return part
    return expand(part) if wanted.extent is Extent.KEPT else squeeze(part)


def _is_below(form: Form, wanted: Form) -> bool:
    """Return whether a node of one form is a reduction or an expansion of the other, and not a broadcast."""
    if form.extent is Extent.GRID:
        return False
    return form.axes == wanted.axes or form.is_total
