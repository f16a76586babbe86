"""Record the values on which a network branched during its trace, and check them when it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.opaque_modules import is_abstract, tensors_of

NAMESPACE = "opbridge_assumptions"
ASSUMED = f"{NAMESPACE}::assumed"
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_LIBRARY.define("assumed(Tensor self, Tensor[] asked, str answers) -> Tensor")


def _assumed(self: torch.Tensor, asked: list[torch.Tensor], answers: str) -> torch.Tensor:
    """Return a copy of `self` if the asked tensors have the values of the trace, and raise UnsupportedError if not.

    One operator checks all assumptions. MindSpore calls in the background, and would report the error of a second
    operator at whatever is called next.
    """
    for tensor, (known, place) in zip(asked, json.loads(answers), strict=True):
        if not is_abstract(tensor) and tensor.tolist() != known:
            raise UnsupportedError(
                f"these inputs take another way at {place} than those that the network was converted with: "
                f"there was {json.dumps(known)}, here is {json.dumps(tensor.tolist())}"
            )
    return self.clone()


_LIBRARY.impl("assumed", _assumed, "CompositeImplicitAutograd")


def source_of(name: str) -> str | None:
    """Return the expression for the operator name, whose import registers the operator; None for other names."""
    return "ASSUMED" if name == ASSUMED else None


class Assumptions:
    """The assumptions of one trace."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], object] = {}

    def add(self, tensor: torch.Tensor, known: torch.Tensor, place: str) -> None:
        """Record that `tensor` holds `known` at `place`; later writes to the tensor do not matter."""
        self._found.setdefault((json.dumps(known), place), tensor.clone())

    @property
    def notes(self) -> list[str]:
        """One note for each place at which a branch follows the example inputs."""
        return [f"a branch goes as with the inputs of the example, and others are refused: {p}" for _, p in self._found]

    @contextmanager
    def held(
        self, network: torch.nn.Module, known_values: Any, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Iterator[None]:
        """Make the inputs and buffers of a traced network known, and check the assumptions at its results.

        The trace raises UnsupportedError if the network made assumptions and returns no floating-point tensor.
        """
        kept = [each.detach().clone() for each in (*tensors_of((args, kwargs)), *network.buffers())]

        def begin(_: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
            for fake, real in zip([*tensors_of((args, kwargs)), *network.buffers()], kept, strict=True):
                known_values.assume(fake, real)

        def end(_: object, __: object, results: object) -> object:
            leaves, tree = tree_flatten(results)
            place = next((i for i, each in enumerate(leaves) if _is_float(each)), None)
            if self._found and place is None:
                raise UnsupportedError("a network that branches on its inputs has to give a tensor of floating point")
            if self._found:
                answers = json.dumps([(json.loads(known), where) for known, where in self._found])
                asked = list(self._found.values())
                leaves[place] = torch.ops.opbridge_assumptions.assumed(leaves[place], asked, answers)
            return tree_unflatten(leaves, tree)

        hooks = (
            network.register_forward_pre_hook(begin, with_kwargs=True),
            network.register_forward_hook(end),
        )
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


def _is_float(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
