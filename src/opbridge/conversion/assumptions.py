"""What a network's inputs were where it branched on them: taken for granted in the trace, and held where it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from opbridge.conversion.wholes import is_abstract, tensors_of
from opbridge.errors import UnsupportedError

NAMESPACE = "opbridge_assumptions"
ASSUMED = f"{NAMESPACE}::assumed"
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_LIBRARY.define("assumed(Tensor self, Tensor[] asked, str answers) -> Tensor")


def _assumed(self: Any, asked: list[Any], answers: str) -> Any:
    """The first argument, where what was asked is what it was in the trace.

    All are asked by one operator: MindSpore, which calls in the background, would keep the error of a second one for
    whatever is called next.
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
    """The expression for the operator's name, whose import makes it known."""
    return "ASSUMED" if name == ASSUMED else None


class Assumptions:
    """What is taken for granted in one trace."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Any] = {}

    def add(self, tensor: Any, known: Any, place: str) -> None:
        """`known` is what the tensor holds; later writes to it do not matter."""
        self._found.setdefault((json.dumps(known), place), tensor.clone())

    @property
    def notes(self) -> list[str]:
        return [f"a branch goes as with the inputs of the example, and others are refused: {p}" for _, p in self._found]

    @contextmanager
    def held(self, network: Any, known_values: Any, args: Any, kwargs: Any) -> Iterator[None]:
        """Lets a traced network know its inputs and buffers, and give its results where they are such."""
        kept = [each.detach().clone() for each in (*tensors_of((args, kwargs)), *network.buffers())]

        def begin(_: Any, args: Any, kwargs: Any) -> None:
            for fake, real in zip([*tensors_of((args, kwargs)), *network.buffers()], kept, strict=True):
                known_values.assume(fake, real)

        def end(_: Any, __: Any, results: Any) -> Any:
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


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
