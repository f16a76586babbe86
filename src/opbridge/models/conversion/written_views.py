"""Find what a write changes besides its tensor: the tensors that it is a view of, and their other views."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
_RESHAPED = {"view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "ravel"}
_RESHAPED |= {"alias", "contiguous", "to", "type_as"}
"""The operators of the last line return the tensor itself when they return a view."""


def written(node: torch.fx.Node) -> torch.fx.Node | None:
    """Return the node whose tensor an operator writes to; None if it writes to none."""
    if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable or not node.args:
        return None
    return node.args[0] if isinstance(node.args[0], torch.fx.Node) else None


def is_view(node: torch.fx.Node) -> bool:
    """Return whether a write to the node's tensor also writes to the tensor of its first argument."""
    if not isinstance(getattr(node, "target", None), OpOverload) or node.target._schema.is_mutable:
        return False
    aliases = any(return_.alias_info for return_ in node.target._schema.returns)
    return aliases and share_memory(node, node.args[0])


def share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two nodes share memory, as far as PyTorch recorded it."""
    values = one.meta.get("val"), other.meta.get("val")
    if not all(isinstance(value, torch.Tensor) for value in values):
        return True
    first, second = (value.untyped_storage()._cdata for value in values)
    return bool(first == second)


def is_one_of_parts(node: torch.fx.Node) -> bool:
    """Return whether a node is one of several views of a tensor, as `chunk` returns them."""
    if getattr(node, "target", None) is not operator.getitem or not isinstance(node.args[0].target, OpOverload):
        return False
    return any(return_.alias_info for return_ in node.args[0].target._schema.returns)


def bases(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """Yield the nodes that a node is a view of, the nearest first."""
    while is_view(node):
        node = node.args[0]
        yield node


def merged(view: torch.fx.Node, bound: Mapping[str, object]) -> tuple[OpOverload, tuple[object, ...]] | None:
    """Return the operator that puts a written part back, and its arguments after base and part; else None."""
    name = view.target._opname
    if name == "slice":
        return _aten.slice_scatter.default, (
            bound.get("dim", 0),
            bound.get("start"),
            bound.get("end"),
            bound.get("step", 1),
        )
    if name == "select":
        return _aten.select_scatter.default, (bound["dim"], bound["index"])
    if name == "diagonal":
        return _aten.diagonal_scatter.default, (bound.get("offset", 0), bound.get("dim1", 0), bound.get("dim2", 1))
    return None


def turned_back(view: torch.fx.Node, bound: Mapping[str, Any]) -> tuple[OpOverload, tuple[object, ...]] | None:
    """Return the operator that turns a view of all elements into its base, and its arguments after the view."""
    name, base = view.target._opname, view.args[0].meta["val"]
    if name in _RESHAPED:
        return _aten.reshape.default, (list(base.shape),)
    if name in ("transpose", "swapaxes", "swapdims"):
        return _aten.transpose.int, tuple(view.args[1:3])
    if name in ("t", "numpy_T", "mT"):
        return _aten.transpose.int, (-2, -1)
    if name == "permute":
        order = [axis % base.ndim for axis in bound["dims"]]
        return _aten.permute.default, ([order.index(axis) for axis in range(base.ndim)],)
    return None


def order_in_memory(tensor: torch.Tensor, bound: Mapping[str, Any]) -> list[int] | None:
    """Return the axes of the `as_strided` input in memory order; None if it reads beyond that tensor."""
    order = sorted(range(tensor.ndim), key=lambda axis: -tensor.stride(axis))
    begin = bound.get("storage_offset")
    last = sum((size - 1) * stride for size, stride in zip(bound["size"], bound["stride"], strict=True))
    is_whole = tensor.permute(order).is_contiguous() and begin in (None, tensor.storage_offset())
    return order if is_whole and last < tensor.numel() else None


def written_inputs(graphs: Callable[[str], torch.fx.GraphModule], path: str) -> dict[int, torch.fx.Node]:
    """Return the places of the inputs that the module at a path writes to, each with its last writing node."""
    graph = graphs(path)
    nodes = graph.nodes if graph is not None else ()
    inputs = [node for node in nodes if node.op == "placeholder"]
    found = {}
    for node in nodes:
        for target in _targets(node, graphs, path):
            for each in (target, *bases(target)):
                if each in inputs:
                    found[inputs.index(each)] = node
    return found


def _targets(node: torch.fx.Node, graphs: Callable[[str], object], path: str) -> list[torch.fx.Node]:
    """Return the nodes whose tensors a node writes to."""
    if node.op == "call_module":
        return [node.args[place] for place in written_inputs(graphs, f"{path}.{node.target}".lstrip("."))]
    target = written(node)
    return [] if target is None else [target]
