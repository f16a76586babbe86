"""What a formula adds up has to be as long as the formula along what it is added up along.

All of a formula is walked along the shape that its tensors broadcast to, so that what is smaller there would be counted
several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opbridge.formulas.nodes import Axes, Node, Reduce, Scan, Tensor, grid_tensors, is_cut, ordered

_COUNTING = ("sum", "log_total", "var")
"""Reductions that another copy of an element changes."""


@dataclass(frozen=True)
class Span:
    axes: Axes
    tensors: tuple[str, ...]
    """That together have these axes as long as all tensors of the formula have them."""


def spans(outputs: tuple[Node, ...]) -> tuple[Span, ...]:
    """Those that are not so by themselves."""
    if is_cut(outputs):
        return ()
    whole = grid_tensors(outputs)
    found = (span for node in ordered(outputs) for span in _spans(node))
    return tuple(dict.fromkeys(span for span in found if span.tensors and span.tensors != whole))


def _spans(node: Node) -> Iterator[Span]:
    if isinstance(node, Scan):
        yield Span((node.axis,), tensors_beside_reductions(node.arg))
    elif isinstance(node, Reduce) and node.kind in _COUNTING:
        if node.axes is not None:
            yield Span(node.axes, tensors_beside_reductions(node.arg))
            return
        yield Span(None, grid_tensors((node.arg,)))
        for axes in {inner.axes for inner in ordered((node.arg,)) if isinstance(inner, Reduce)}:
            yield Span(axes, tensors_beside_reductions(node.arg))


def tensors_beside_reductions(root: Node) -> tuple[str, ...]:
    """The tensors that give a value its axes: those below its reductions do not."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Reduce):
            found |= {*grid_tensors((node,))} if isinstance(node, Tensor) else set()
            waiting += node.inputs
    return tuple(sorted(found))
