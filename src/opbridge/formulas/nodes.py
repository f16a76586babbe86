"""What a formula is once its names and types are known: a graph in which equal parts are one node.

Sizes are unknown; what is known of a node's dimensions is its form, relative to the shape that the formula's tensors
broadcast to, which is called the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from opbridge.rules.syntax import Expr

Axes = tuple[int, ...] | None
"""Sorted, and all from the front or all from the back; None: all axes."""


class Extent(Enum):
    CALL = 0
    """One number for a call, which no tensor shapes."""
    DROPPED = 1
    """The grid without some axes."""
    KEPT = 2
    """The grid with some axes of size 1."""
    GRID = 3


@dataclass(frozen=True)
class Form:
    extent: Extent
    axes: Axes = ()

    @property
    def is_total(self) -> bool:
        """Whether it is one element, which broadcasts with anything."""
        return self.extent is not Extent.GRID and self.axes is None


CALL, GRID = Form(Extent.CALL), Form(Extent.GRID)


@dataclass(frozen=True)
class Cut:
    """Some places of an axis, which is counted from the end: `count` of them from `start` on; the axis has `whole`."""

    axis: int
    start: Expr
    count: Expr
    step: int
    whole: Expr


@dataclass(frozen=True, eq=False)
class Node:
    """Made by `made` alone, so that nodes are equal where they are the same object."""

    @property
    def form(self) -> Form:
        return CALL

    @property
    def is_truth(self) -> bool:
        return False

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class Number(Node):
    value: int | float | bool

    @property
    def is_truth(self) -> bool:
        return isinstance(self.value, bool)


@dataclass(frozen=True, eq=False)
class Scalar(Node):
    """An argument that is no tensor."""

    name: str
    type: str

    @property
    def is_truth(self) -> bool:
        return self.type == "bool"


@dataclass(frozen=True, eq=False)
class Text(Node):
    """Of a string argument: whether it is this one."""

    name: str
    value: str

    @property
    def is_truth(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Size(Node):
    """A size of a call as a number."""

    size: Expr


@dataclass(frozen=True, eq=False)
class Tensor(Node):
    name: str
    placed: Form = GRID
    is_mask: bool = False
    cuts: tuple[Cut, ...] = ()
    """The part of it that is meant, by axes; of a size of 1, which broadcasts, all."""

    @property
    def form(self) -> Form:
        return self.placed

    @property
    def is_truth(self) -> bool:
        return self.is_mask


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A function of each element."""

    function: str
    args: tuple[Node, ...]
    placed: Form
    truth: bool = False
    dtype: str = ""
    """Of `astype`."""

    @property
    def form(self) -> Form:
        return self.placed

    @property
    def is_truth(self) -> bool:
        return self.truth

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.args


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Parts put together along an axis, which they fill; what an output is, and nothing is computed from."""

    parts: tuple[Node, ...]
    cuts: tuple[Cut, ...]

    @property
    def form(self) -> Form:
        return GRID

    @property
    def is_truth(self) -> bool:
        return all(part.is_truth for part in self.parts)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, eq=False)
class Reduce(Node):
    kind: str
    arg: Node
    axes: Axes
    keeps: bool
    correction: int | float = 0
    """Of `var`."""

    @property
    def form(self) -> Form:
        return Form(Extent.KEPT if self.keeps else Extent.DROPPED, self.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """The sums of what comes before each element along an axis and of itself; backwards, of what comes behind it."""

    arg: Node
    axis: int
    is_backward: bool

    @property
    def form(self) -> Form:
        return GRID

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Expand(Node):
    """What has lost its axes, with axes of size 1 in their place."""

    arg: Node

    @property
    def form(self) -> Form:
        return Form(Extent.KEPT, self.arg.form.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Squeeze(Node):
    """The inverse: what has axes of size 1, without them."""

    arg: Node

    @property
    def form(self) -> Form:
        return Form(Extent.DROPPED, self.arg.form.axes)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.arg,)


@dataclass(frozen=True, eq=False)
class Count(Node):
    """How many elements of this form there are along these axes."""

    axes: Axes
    of: Form


N = TypeVar("N", bound=Node)
_known: WeakValueDictionary[tuple[Any, ...], Node] = WeakValueDictionary()


def made(kind: Callable[..., N], *values: Any) -> N:
    """The one node with these values."""
    key = (kind, *values, *map(_sort, values))
    node = _known.get(key)
    if node is None:
        node = kind(*values)
        _known[key] = node
    return cast(N, node)


def _sort(value: Any) -> object:
    """What else tells values apart: 1, 1.0 and True are equal and mean different things, as do 0.0 and -0.0."""
    return (float, math.copysign(1.0, value)) if type(value) is float else type(value)


def ordered(roots: Iterator[Node] | tuple[Node, ...]) -> list[Node]:
    """All nodes below these, each once and behind those that it needs."""
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
    """The names of those that together have the shape of the grid."""
    found = {node.name for node in ordered(tuple(roots)) if isinstance(node, Tensor) and node.form == GRID}
    return tuple(sorted(found))


def is_cut(roots: Iterable[Node]) -> bool:
    """Whether parts of tensors stand in it, or are put together, whose shapes are not the grid's."""
    return any(isinstance(node, Join) or (isinstance(node, Tensor) and node.cuts) for node in ordered(tuple(roots)))


def rebuilt(roots: tuple[Node, ...], change: Callable[[Node], Node | None]) -> tuple[Node, ...]:
    """The same graph with nodes in the place of those for which `change` has one."""
    new: dict[Node, Node] = {}
    for node in ordered(roots):
        replaced = change(node)
        new[node] = replaced if replaced is not None else with_inputs(node, new)
    return tuple(new[root] for root in roots)


def with_inputs(node: Node, new: dict[Node, Node]) -> Node:
    """The node with others in the place of its inputs."""
    if all(new[child] is child for child in node.inputs):
        return node
    values = [getattr(node, field.name) for field in fields(node)]
    return made(type(node), *(_replaced(value, new) for value in values))


def _replaced(value: Any, new: dict[Node, Node]) -> Any:
    if isinstance(value, Node):
        return new[value]
    return (
        tuple(new[item] for item in value)
        if isinstance(value, tuple) and value and isinstance(value[0], Node)
        else value
    )
