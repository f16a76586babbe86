"""The graph of a formula with names and types resolved, in which equal parts are one node.

Sizes are unknown. What is known about a node's dimensions is its form, relative to the shape to which the
formula's tensors broadcast. That shape is called the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import TypeVar, cast
from weakref import WeakValueDictionary

from opbridge.waist.rules.syntax import Expr

Axes = tuple[int, ...] | None
"""Axes in ascending order, all counted from the front or all from the back; None means all axes."""


class Extent(Enum):
    """The axes of the grid that a node has."""

    CALL = 0
    """One number for the whole call, independent of the tensors' shapes."""
    DROPPED = 1
    """The grid without some axes."""
    KEPT = 2
    """The grid with some axes of size 1."""
    GRID = 3


@dataclass(frozen=True)
class Form:
    """The dimensions of a node relative to the grid."""

    extent: Extent
    axes: Axes = ()

    @property
    def is_total(self) -> bool:
        """Whether it is one element, which broadcasts with anything."""
        return self.extent is not Extent.GRID and self.axes is None


CALL, GRID = Form(Extent.CALL), Form(Extent.GRID)


@dataclass(frozen=True)
class Cut:
    """A part of an axis, counted from the end: `count` places from `start` on, of `whole` places."""

    axis: int
    start: Expr
    count: Expr
    step: int
    whole: Expr


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a formula. Only `made` creates nodes, so that equal nodes are the same object."""

    @property
    def form(self) -> Form:
        """The node's dimensions."""
        return CALL

    @property
    def is_truth(self) -> bool:
        """Whether the node is a condition."""
        return False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it is computed from."""
        return ()


@dataclass(frozen=True, eq=False)
class Number(Node):
    """A literal number or condition."""

    value: int | float | bool

    @property
    def is_truth(self) -> bool:
        """Whether it is True or False."""
        return isinstance(self.value, bool)


@dataclass(frozen=True, eq=False)
class Scalar(Node):
    """An argument that is not a tensor."""

    name: str
    type: str

    @property
    def is_truth(self) -> bool:
        """Whether the argument is a bool."""
        return self.type == "bool"


@dataclass(frozen=True, eq=False)
class Text(Node):
    """The condition that a string argument has this value."""

    name: str
    value: str

    @property
    def is_truth(self) -> bool:
        """Always true."""
        return True


@dataclass(frozen=True, eq=False)
class Size(Node):
    """A size in a call, used as a number."""

    size: Expr


@dataclass(frozen=True, eq=False)
class Tensor(Node):
    """A tensor argument, or a part of one."""

    name: str
    placed: Form = GRID
    is_mask: bool = False
    cuts: tuple[Cut, ...] = ()
    """The part of the tensor by axes; an axis of size 1, which broadcasts, is used whole."""

    @property
    def form(self) -> Form:
        """The form in which the tensor appears."""
        return self.placed

    @property
    def is_truth(self) -> bool:
        """Whether the tensor is used as a mask."""
        return self.is_mask


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """An elementwise function."""

    function: str
    args: tuple[Node, ...]
    placed: Form
    truth: bool = False
    dtype: str = ""
    """The type to which `astype` converts."""

    @property
    def form(self) -> Form:
        """The form of the result."""
        return self.placed

    @property
    def is_truth(self) -> bool:
        """Whether the result is a condition."""
        return self.truth

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The function's arguments."""
        return self.args


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Parts that together fill an axis; it can be an output, but nothing is computed from it."""

    parts: tuple[Node, ...]
    cuts: tuple[Cut, ...]

    @property
    def form(self) -> Form:
        """The grid."""
        return GRID

    @property
    def is_truth(self) -> bool:
        """Whether all parts are conditions."""
        return all(part.is_truth for part in self.parts)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, eq=False)
class Reduce(Node):
    """A reduction along axes."""

    kind: str
    arg: Node
    axes: Axes
    keeps: bool
    correction: int | float = 0
    """The correction of `var`."""

    @property
    def form(self) -> Form:
        """The grid without the reduced axes, or with size 1 there."""
        return Form(Extent.KEPT if self.keeps else Extent.DROPPED, self.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node that is reduced."""
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """The cumulative sums along an axis, each including its own element; backwards, they start from the end."""

    arg: Node
    axis: int
    is_backward: bool

    @property
    def form(self) -> Form:
        """The grid."""
        return GRID

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node that is summed."""
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Expand(Node):
    """A node that has lost axes, with axes of size 1 in their place."""

    arg: Node

    @property
    def form(self) -> Form:
        """The grid with size 1 at these axes."""
        return Form(Extent.KEPT, self.arg.form.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node without the axes."""
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Squeeze(Node):
    """The inverse of Expand: a node with axes of size 1, without them."""

    arg: Node

    @property
    def form(self) -> Form:
        """The grid without these axes."""
        return Form(Extent.DROPPED, self.arg.form.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The node with the axes."""
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Count(Node):
    """The number of elements of this form along these axes."""

    axes: Axes
    of: Form


N = TypeVar("N", bound=Node)
_known: WeakValueDictionary[tuple[object, ...], Node] = WeakValueDictionary()


def made(kind: Callable[..., N], *values: object) -> N:
    """Return the one node with these values."""
    key = (kind, *values, *map(_sort, values))
    node = _known.get(key)
    if node is None:
        node = kind(*values)
        _known[key] = node
    return cast(N, node)


def _sort(value: object) -> object:
    """Return what else tells values apart: 1, 1.0 and True compare equal, and so do 0.0 and -0.0."""
    return (float, math.copysign(1.0, value)) if type(value) is float else type(value)


def ordered(roots: Iterator[Node] | tuple[Node, ...]) -> list[Node]:
    """Return all nodes below these, each once and after its inputs."""
    order: dict[Node, None] = {}
    waiting = [(root, False) for root in reversed(tuple(roots))]
    while waiting:
        node, is_ready = waiting.pop()
        if node in order:
            continue
        if is_ready:
            order[node] = None
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.inputs))
    return list(order)


def grid_tensors(roots: Iterable[Node]) -> tuple[str, ...]:
    """Return the names of the tensors that together have the grid's shape."""
    found = {node.name for node in ordered(tuple(roots)) if isinstance(node, Tensor) and node.form == GRID}
    return tuple(sorted(found))


def is_cut(roots: Iterable[Node]) -> bool:
    """Return whether the graph contains parts of tensors or joins of parts, whose shapes are not the grid's."""
    return any(isinstance(node, Join) or (isinstance(node, Tensor) and node.cuts) for node in ordered(tuple(roots)))


def rebuilt(roots: tuple[Node, ...], change: Callable[[Node], Node | None]) -> tuple[Node, ...]:
    """Return the same graph with each node replaced for which `change` returns another."""
    new: dict[Node, Node] = {}
    for node in ordered(roots):
        replaced = change(node)
        new[node] = replaced if replaced is not None else with_inputs(node, new)
    return tuple(new[root] for root in roots)


def with_inputs(node: Node, new: dict[Node, Node]) -> Node:
    """Return the node with its inputs replaced."""
    if all(new[child] is child for child in node.inputs):
        return node
    values = [getattr(node, field.name) for field in fields(node)]
    return made(type(node), *(_replaced(value, new) for value in values))


def _replaced(value: object, new: dict[Node, Node]) -> object:
    if isinstance(value, Node):
        return new[value]
    return (
        tuple(new[item] for item in value)
        if isinstance(value, tuple) and value and isinstance(value[0], Node)
        else value
    )
