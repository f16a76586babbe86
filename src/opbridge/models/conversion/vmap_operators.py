"""Replace torch.vmap in an exported graph with the operators that it comes down to."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx.experimental.proxy_tensor import make_fx

_ENTER, _LEAVE = "_vmap_increment_nesting", "_vmap_decrement_nesting"


def without_vmap(program: torch.export.ExportedProgram) -> None:
    """Replace the vmap regions in the graph of a torch.export program."""
    module = program.graph_module
    for region in list(_regions(module.graph)):
        _replace(module, region)
    for node in list(module.graph.nodes):
        if _name(node) == "lazy_load_decompositions":
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code(lambda node: node.op != "get_attr")


def _name(node: torch.fx.Node) -> str:
    return getattr(node.target, "__name__", "")


def _regions(graph: torch.fx.Graph) -> Iterator[list[object]]:
    """Yield the nodes of each outermost vmap, from its beginning to its end."""
    region: list[torch.fx.Node] = []
    depth = 0
    for node in graph.nodes:
        depth += _name(node) == _ENTER
        if depth:
            region.append(node)
        depth -= _name(node) == _LEAVE
        if region and not depth:
            yield region
            region = []


def _replace(module: torch.nn.Module, region: list[torch.fx.Node]) -> None:
    within = set(region)
    read = dict.fromkeys(each for node in region for each in node.all_input_nodes if each not in within)
    given = [node for node in read if node.op != "get_attr"]
    results = [node for node in region if any(user not in within for user in node.users)]
    traced = make_fx(_alone(module, region, given, results))(*(node.meta["val"] for node in given))
    known = dict(zip((node for node in traced.graph.nodes if node.op == "placeholder"), given, strict=True))
    head = next(node for node in region if node.meta.get("nn_module_stack") is not None)
    with module.graph.inserting_before(region[0]):
        for node in traced.graph.nodes:
            if node.op == "output":
                for old, new in zip(results, node.args[0], strict=True):
                    old.replace_all_uses_with(known[new], lambda user: user not in within)
            elif node.op != "placeholder":
                copy = known[node] = module.graph.node_copy(node, known.__getitem__)
                copy.meta = {**head.meta, "val": node.meta.get("val")}
                if node.op == "get_attr":
                    setattr(module, node.target, getattr(traced, node.target))
    for node in reversed(region):
        module.graph.erase_node(node)


def _alone(module: object, region: list[torch.fx.Node], given: list[torch.fx.Node], results: list[object]) -> object:
    """Return a region as a separate module."""
    graph = torch.fx.Graph()
    known = {node: graph.placeholder(node.name) for node in given}
    attributes = (each for node in region for each in node.all_input_nodes if each.op == "get_attr")
    for node in dict.fromkeys([*attributes, *region]):
        known[node] = graph.node_copy(node, known.__getitem__)
    graph.output([known[node] for node in results])
    return torch.fx.GraphModule(module, graph)
