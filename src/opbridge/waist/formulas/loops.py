"""A formula as loops: a loop over rows, and in each row the reductions, then the stores.

Every kernel printer starts from this form. docs/formula.md says which formulas have one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.make_nodes import apply, count
from opbridge.waist.formulas.nodes import (
    Apply,
    Axes,
    Cut,
    Extent,
    Form,
    Join,
    Node,
    Number,
    Reduce,
    Scalar,
    Scan,
    Size,
    Tensor,
    Text,
    ordered,
)
from opbridge.waist.formulas.short_definitions import in_plain_functions
from opbridge.waist.formulas.summed_lengths import Span
from opbridge.waist.schema import Schema


@dataclass(frozen=True)
class Output:
    """One output of a kernel.

    A sum has the size of its own tensor; each of its elements receives the sum over the rest of the grid.
    """

    name: str
    value: Node
    form: Form
    is_sum: bool = False
    cuts: tuple[Cut, ...] = ()
    """The part of the output that is computed."""
    shape: Node | None = None
    """The node that gives the grid its shape if the value uses less of it; its parts are joined like the value."""

    @property
    def shapes(self) -> tuple[Tensor, ...]:
        """Return the tensors of the grid from which the output takes its shape."""
        nodes = ordered((self.shape,)) if self.shape is not None else ()
        return tuple(node for node in nodes if isinstance(node, Tensor) and node.form.extent is Extent.GRID)


@dataclass(frozen=True)
class Loops:
    """The loops of one kernel."""

    schema: Schema
    comment: str
    axes: Axes
    """The axes that a row spans; without axes, rows are pieces of any length."""
    tensors: tuple[Tensor, ...]
    """The tensors that are read, in the order of the schema."""
    outputs: tuple[Output, ...]
    steps: tuple[Reduce | Scan, ...]
    """The reductions and scans, each of which walks over the row, in an order in which they can be computed."""
    names: tuple[tuple[str, Node], ...]
    others: tuple[Loops, ...] = ()
    """The loops that the same kernel runs afterwards, for parts that have another shape."""
    spans: tuple[Span, ...] = ()
    """The requirements on the sizes of a call."""
    shapes: tuple[Tensor, ...] = ()
    """Tensors that are not read but determine the shape of the grid."""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes below the outputs, each once and after its inputs."""
        return tuple(_nodes(self.outputs))

    @property
    def reductions(self) -> tuple[Reduce, ...]:
        """The reductions among the steps."""
        return tuple(node for node in self.steps if isinstance(node, Reduce))

    @property
    def all(self) -> tuple[Loops, ...]:
        """These loops and the others of the same kernel."""
        return (self, *self.others)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts of all tensors and outputs, in all loops."""
        of_outputs = (output.cuts for part in self.all for output in part.outputs)
        of_tensors = (tensor.cuts for part in self.all for tensor in part.tensors)
        return tuple(dict.fromkeys(cut for cuts in (*of_tensors, *of_outputs) for cut in cuts))

    def is_row(self, node: Node) -> bool:
        """Return whether the node has one value per row."""
        return node.form.extent is not Extent.GRID

    def is_call(self, node: Node) -> bool:
        """Return whether the node has one value for the whole call."""
        return isinstance(node, (Number, Scalar, Size, Text)) or (
            isinstance(node, Apply) and node.form.extent is Extent.CALL
        )


def loops(schema: Schema, comment: str, outputs: tuple[Output, ...], names: tuple[tuple[str, Node], ...] = ()) -> Loops:
    """Return the loops of a kernel.

    Raises:
        RuleError: One pass over memory is not enough.
    """
    plain = in_plain_functions((*(output.value for output in outputs), *(node for _, node in names)))
    names = tuple((name, plain[node]) for name, node in names)
    groups: dict[object, list[Output]] = {}
    for output in (replace(output, value=plain[output.value]) for output in outputs):
        for part in _parts(output):
            groups.setdefault(_shape_key(part), []).append(part)
    first, *others = (_loops(schema, comment, tuple(group), names) for group in groups.values())
    return replace(first, others=tuple(others))


def _parts(output: Output) -> Iterator[Output]:
    """Yield the parts of an output that is put together from parts, or the output itself."""
    if not isinstance(output.value, Join):
        yield output
        return
    shapes = output.shape.parts if isinstance(output.shape, Join) else [output.shape] * len(output.value.parts)
    for part, cut, shape in zip(output.value.parts, output.value.cuts, shapes, strict=True):
        yield from _parts(replace(output, value=part, cuts=(*output.cuts, cut), shape=shape))


def _shape_key(output: Output) -> object:
    """Return a key that is equal for outputs that can be computed together, as far as shapes are known."""
    tensors = [node for node in (*_nodes((output,)), *output.shapes) if isinstance(node, Tensor)]
    cuts = [cut for node in tensors for cut in node.cuts]
    return frozenset((cut.axis, cut.count) for cut in (*cuts, *output.cuts))


def _loops(schema: Schema, comment: str, outputs: tuple[Output, ...], names: tuple[tuple[str, Node], ...]) -> Loops:
    found = list(dict.fromkeys(_axes(outputs)))
    if len(found) > 1 and None in found:
        outputs = tuple(_totals_added_up(output) for output in outputs)
        found = list(dict.fromkeys(axes for axes in _axes(outputs) if axes is not None))
        if any(isinstance(node, Reduce) and node.axes is None for node in _nodes(outputs)):
            found.append(None)
    if len(found) > 1:
        first = next((node for node in _nodes(outputs) if isinstance(node, Reduce) and node.axes == found[0]), None)
        raise TwoPasses(schema, found[0], found[1], first)
    nodes = _nodes(outputs)
    order = {argument.name: place for place, argument in enumerate(schema.arguments)}
    found_tensors = dict.fromkeys(node for node in nodes if isinstance(node, Tensor))
    tensors = sorted(found_tensors, key=lambda node: order[node.name])
    steps = tuple(node for node in nodes if isinstance(node, (Reduce, Scan)))
    shapes = tuple(dict.fromkeys(node for output in outputs for node in output.shapes if node not in found_tensors))
    return Loops(schema, comment, found[0] if found else (), tuple(tensors), outputs, steps, names, shapes=shapes)


class TwoPasses(RuleError):
    """Raised if a formula needs two passes over memory.

    `first` is the reduction that could become an operator of its own.
    """

    def __init__(self, schema: Schema, axes: Axes, others: Axes, first: Reduce | None) -> None:
        spelled = " and ".join(
            "all axes" if found is None else f"axis {', '.join(map(str, found))}" for found in (axes, others)
        )
        super().__init__(
            f"{schema.full_name} reduces over {spelled}, which is two passes over memory",
            hint="make it two operators: one that returns what the first reduction gives, and one that takes it",
        )
        self.first = first


def _nodes(outputs: tuple[Output, ...]) -> list[Node]:
    return ordered(tuple(output.value for output in outputs))


def _axes(outputs: tuple[Output, ...]) -> Iterator[Axes]:
    for node in _nodes(outputs):
        if isinstance(node, Scan):
            yield (node.axis,)
        is_reduced = node.form.extent in (Extent.KEPT, Extent.DROPPED)
        if is_reduced and (isinstance(node, Reduce) or not node.form.is_total):
            yield node.form.axes
    for output in outputs:
        if output.form.extent in (Extent.KEPT, Extent.DROPPED) and not output.form.is_total:
            yield output.form.axes


def _totals_added_up(output: Output) -> Output:
    """Return the output with its total as a sum to which each row adds."""
    inside = _linear(output.value)
    if inside is None or output.is_sum:
        return output
    return replace(output, value=inside, form=Form(Extent.DROPPED, None), is_sum=True)


def _linear(node: Node) -> Node | None:
    """Return what is summed if the node is the total of something or a multiple of it; else None."""
    if isinstance(node, Reduce) and node.axes is None and node.kind in ("sum", "mean"):
        return apply("divide", node.arg, count(None, node.arg.form)) if node.kind == "mean" else node.arg
    if not isinstance(node, Apply):
        return None
    if node.function == "negative" and (inside := _linear(node.args[0])) is not None:
        return apply("negative", inside)
    if node.function in ("multiply", "divide") and node.args[1].form.extent is Extent.CALL:
        inside = _linear(node.args[0])
        return None if inside is None else apply(node.function, inside, node.args[1])
    if node.function == "multiply" and node.args[0].form.extent is Extent.CALL:
        inside = _linear(node.args[1])
        return None if inside is None else apply("multiply", node.args[0], inside)
    return None
