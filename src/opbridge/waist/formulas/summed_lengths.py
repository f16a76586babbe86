"""Require that the tensors in a sum are as long as the formula along the summed axes.

The whole formula is computed along the shape to which its tensors broadcast. A shorter tensor in a sum would
be counted several times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opbridge.waist.formulas.nodes import Axes, Node, Reduce, Scan, Tensor, grid_tensors, is_cut, ordered

_COUNTING = ("sum", "log_total", "var")
"""Reductions whose result changes if an element is counted again."""


@dataclass(frozen=True)
class Span:
    """Tensors that together must be as long as the whole formula along these axes."""

    axes: Axes
    tensors: tuple[str, ...]
    """The tensors whose common shape must span these axes."""


def spans(outputs: tuple[Node, ...]) -> tuple[Span, ...]:
    """Return the requirements that are not met automatically."""
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
    """Return the tensors that determine a value's axes, without those inside its reductions."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Reduce):
            found |= {*grid_tensors((node,))} if isinstance(node, Tensor) else set()
            waiting += node.inputs
    return tuple(sorted(found))
