"""What a write changes besides its tensor: what that is a view of, and other views of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch._ops import OpOverload

_aten = torch.ops.aten
_RESHAPED = {"view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "ravel"}
_RESHAPED |= {"alias", "contiguous", "to", "type_as"}
"""Those of the last line are the tensor itself where they are a view of it."""


def written(node: Any) -> Any:
    """The node whose tensor an operator writes to; None of one that writes to none."""
    if not isinstance(node.target, OpOverload) or not node.target._schema.is_mutable or not node.args:
        return None
    return node.args[0] if isinstance(node.args[0], torch.fx.Node) else None


def is_view(node: Any) -> bool:
    """Whether a write to the node's tensor is one to the tensor of its first argument."""
    if not isinstance(getattr(node, "target", None), OpOverload) or node.target._schema.is_mutable:
        return False
    aliases = any(return_.alias_info for return_ in node.target._schema.returns)
    return aliases and share_memory(node, node.args[0])


def share_memory(one: Any, other: Any) -> bool:
    """Whether two nodes have the same memory, as far as PyTorch kept what is known of them."""
    values = one.meta.get("val"), other.meta.get("val")
    if not all(isinstance(value, torch.Tensor) for value in values):
        return True
    first, second = (value.untyped_storage()._cdata for value in values)
    return bool(first == second)


def is_one_of_parts(node: Any) -> bool:
    """Whether it is one of several views of a tensor, as `chunk` gives them."""
    if getattr(node, "target", None) is not operator.getitem or not isinstance(node.args[0].target, OpOverload):
        return False
    return any(return_.alias_info for return_ in node.args[0].target._schema.returns)


def bases(node: Any) -> Iterator[Any]:
    """What a view is a view of."""
    while is_view(node):
        node = node.args[0]
        yield node


def merged(view: Any, bound: Mapping[str, Any]) -> tuple[OpOverload, tuple[Any, ...]] | None:
    """The operator, and its arguments after base and part, that puts a written part back; None where there is none."""
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


def turned_back(view: Any, bound: Mapping[str, Any]) -> tuple[OpOverload, tuple[Any, ...]] | None:
    """The operator, and its arguments after the view, that makes a view of all elements its base again."""
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


def order_in_memory(tensor: Any, bound: Mapping[str, Any]) -> list[int] | None:
    """The axes of what `as_strided` is given, as they lie in memory; None where it takes more than that tensor's."""
    order = sorted(range(tensor.ndim), key=lambda axis: -tensor.stride(axis))
    begin = bound.get("storage_offset")
    last = sum((size - 1) * stride for size, stride in zip(bound["size"], bound["stride"], strict=True))
    is_whole = tensor.permute(order).is_contiguous() and begin in (None, tensor.storage_offset())
    return order if is_whole and last < tensor.numel() else None


def written_inputs(graphs: Callable[[str], Any], path: str) -> dict[int, Any]:
    """The places of the inputs that the module at a path writes to, each with the node that does so last."""
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


def _targets(node: Any, graphs: Callable[[str], Any], path: str) -> list[Any]:
    """The nodes whose tensors a node writes to."""
    if node.op == "call_module":
        return [node.args[place] for place in written_inputs(graphs, f"{path}.{node.target}".lstrip("."))]
    target = written(node)
    return [] if target is None else [target]
