"""Settle the writes of a network to its own values.

Writes to buffers are kept. Writes to weights are left out if they change nothing, and refused otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.source_lines import user_line
from opbridge.models.conversion.written_views import written

_IDLE = {"mul_": 1, "div_": 1, "add_": 0, "sub_": 0}
"""In-place operators, with the number that makes each do nothing."""

_REGIONS = (torch.ops.higher_order.wrap_with_set_grad_enabled, torch.ops.higher_order.wrap_with_autocast)
for _region in _REGIONS:
    torch.fx.node.has_side_effect(_region)  # PyTorch would drop a region whose results are unused, and its writes


def settle(program: torch.export.ExportedProgram, trained: Collection[str]) -> None:
    """Leave out the writes to weights that change nothing.

    A network may write once and remember it; a graph would write at every call.

    Raises:
        UnsupportedError: A write changes a weight.
    """
    names = program.graph_signature.inputs_to_parameters
    inputs = {node: names[node.name] for node in program.graph.nodes if node.name in names}
    _settle(program.graph_module, {node: name for node, name in inputs.items() if name in trained})


def _settle(module: torch.nn.Module, weights: Mapping[object, str]) -> None:
    for node in list(module.graph.nodes):
        if node.target in _REGIONS:
            _settle_regions(module, node, weights)
        elif (weight := written(node)) in weights:
            if not _is_idle(node):
                raise UnsupportedError(
                    f"the network writes to its weight {weights[weight]}, and a written one would at every call"
                    f"\n  at {user_line(node)}; do that outside of forward()"
                )
            node.replace_all_uses_with(weight)
            module.graph.erase_node(node)


def _settle_regions(module: torch.nn.Module, node: torch.fx.Node, weights: Mapping[object, str]) -> None:
    """Settle the writes in a region such as torch.no_grad(), which is a separate graph.

    No gradient leads out of that graph, so users of a result that is a weight get the weight itself.
    """
    for place, each in enumerate(node.args):
        region = getattr(module, str(each.target), None) if getattr(each, "op", None) == "get_attr" else None
        if isinstance(region, torch.fx.GraphModule):
            inputs = [inner for inner in region.graph.nodes if inner.op == "placeholder"]
            given = dict(zip(inputs, node.args[place + 1 :], strict=False))
            _settle(region, {inner: weights[outer] for inner, outer in given.items() if outer in weights})
            region.recompile()
            for user in list(node.users):
                result = region.graph.output_node().args[0][user.args[1]]
                if given.get(result) in weights:
                    user.replace_all_uses_with(given[result])


def _is_idle(node: torch.fx.Node) -> bool:
    number = _IDLE.get(node.target._opname)
    return number is not None and len(node.args) == 2 and not node.kwargs and bool(node.args[1] == number)
