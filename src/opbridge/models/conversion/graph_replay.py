"""Run the PyTorch graphs of a network node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch._ops import OpOverload

from opbridge.models.conversion.exported_graphs import Exported
from opbridge.models.scan.nested_values import tensors

MODE = "inference"


class Replay(torch.fx.Interpreter):  # type: ignore[misc]
    """An interpreter that reports each node to `tell`, with the module path, its arguments and its result."""

    def __init__(
        self, exported: Exported, path: str, tell: Callable[[str, torch.fx.Node, object, object], None]
    ) -> None:
        super().__init__(torch.nn.Module(), graph=exported.graph(MODE, path))
        self._exported, self._path, self._tell = exported, path, tell
        self._nested = exported.nested(MODE, path)

    def start(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Run the network without gradients."""
        with torch.no_grad():
            self.run(*tensors([*args, *kwargs.values()]))

    def run_node(self, n: torch.fx.Node) -> object:
        """Run a node, and report copies: an in-place operator changes its arguments."""
        given = [self.fetch_args_kwargs_from_env(n)] if isinstance(n.target, OpOverload) else [None]
        if given[0] is not None and n.target._schema.is_mutable:
            given[0] = torch.fx.node.map_aggregate(given[0], _cloned)
        value = super().run_node(n)
        self._tell(self._path, n, given[0], torch.fx.node.map_aggregate(value, _cloned))
        return value

    def get_attr(self, target: object, args: object, kwargs: object) -> object:
        """Return a nested graph as a function, or a copy of a value."""
        if target in self._nested:
            return self._inner(self._nested[target])
        return self._exported.state[f"{self._path}.{target}".lstrip(".")].clone()

    def _inner(self, module: torch.nn.Module) -> Callable[..., object]:
        """Return a nested graph as a function; its nodes are part of the source of their module."""

        def run(*operands: object) -> object:
            inner = Replay(self._exported, self._path, self._tell)
            inner.graph, inner.module = module.graph, module
            inner._nested = dict(module.named_children())
            return inner.run(*operands)

        return run

    def call_module(self, target: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Run the graph of a module."""
        path = f"{self._path}.{target}".lstrip(".")
        return Replay(self._exported, path, self._tell).run(*args, *kwargs.values())


def _cloned(value: object) -> object:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
