"""Insert the casts of torch.autocast into an exported region, as operators of its graph."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten


def cast_as_autocast(graph: torch.fx.Graph, device: str, dtype: object) -> None:
    """Insert the autocast casts before the operators that need them, where they are missing."""
    for node in list(graph.nodes):
        if isinstance(node.target, OpOverload) and node.target is not _aten.to.dtype:
            _cast_inputs(graph, node, device, dtype)


def _cast_inputs(graph: torch.fx.Graph, node: torch.fx.Node, device: str, dtype: torch.dtype) -> None:
    values = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: each.meta["val"])
    seen = _Casts()
    with torch.no_grad(), torch.autocast(device, dtype, cache_enabled=False), seen:
        node.target(*values[0], **values[1])
    for given in node.all_input_nodes:
        wanted = seen.found.get(id(given.meta.get("val")))
        if wanted is not None:
            with graph.inserting_before(node):
                cast = graph.call_function(_aten.to.dtype, (given, wanted))
            cast.meta = {**node.meta, "val": given.meta["val"].to(wanted)}
            node.replace_input_with(given, cast)


class _Casts(TorchDispatchMode):  # type: ignore[misc]
    """A mode below autocast that records what autocast casts, by the identities of the tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, torch.dtype] = {}

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: object, args: Any = (), kwargs: Any = None
    ) -> object:
        if func is _aten._to_copy.default and (kwargs or {}).get("dtype") is not None:
            self.found.setdefault(id(args[0]), kwargs["dtype"])
        return func(*args, **(kwargs or {}))
