"""A module that PyTorch runs whole, as one operator: its behavior depends on values, which no graph knows."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._pytree import tree_leaves, tree_map

from opbridge.base.errors import UnsupportedError

if TYPE_CHECKING:
    from typing import IO

NAMESPACE = "opbridge_modules"
SUFFIX = ".pickle"
_SEEDS = 1 << 24
"""The number of different values that a float32 draw can have."""
_LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")
_KEPT: dict[str, bytes] = {}
"""The pickled modules by operator name, as packages store them."""


@dataclass(frozen=True)
class Whole:
    """A module, and one way to call it; meta tensors represent its inputs and results."""

    module: torch.nn.Module
    """The module without its values, which every call passes."""
    given: object
    names: tuple[str, ...]
    """The names of its parameters and buffers, which follow the input tensors."""
    results: object
    written: tuple[int, ...]
    """The places of the inputs and own values that it writes to; their new values are results too."""
    draws: bool
    """Whether the last input is a number that seeds its draws."""

    @property
    def all_results(self) -> list[torch.Tensor]:
        """The results, followed by the tensors that the module writes to."""
        values = dict(self.module.named_parameters()) | dict(self.module.named_buffers())
        held = [*tensors_of(self.given), *(values[name] for name in self.names)]
        return [*tensors_of(self.results), *(held[place] for place in self.written)]

    def run(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run the module; for abstract tensors, return only results of the right sizes."""
        if any(map(is_abstract, tensors)):
            return self._shaped(tensors)
        with torch.random.fork_rng(devices=[], enabled=self.draws):
            if self.draws:
                *tensors, drawn = tensors
                torch.manual_seed(int(drawn * _SEEDS))
            return self._results(tensors)

    def _results(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        tensors = [each.clone() if place in self.written else each for place, each in enumerate(tensors)]
        count = len(tensors) - len(self.names)
        # JAX may have no int64.
        inputs = [each.to(like.dtype) for each, like in zip(tensors[:count], tensors_of(self.given), strict=True)]
        args, kwargs = filled(self.given, inputs)
        values = dict(zip(self.names, tensors[count:], strict=True))
        results = torch.func.functional_call(self.module, values, args, kwargs)
        given = [*inputs, *tensors[count:]]
        found = [*tensors_of(results), *(given[place] for place in self.written)]
        if [each.shape for each in found] != [each.shape for each in self.all_results]:
            raise UnsupportedError(f"{type(self.module).__name__} gives results of other sizes than when it was traced")
        return found

    def _shaped(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Return results of the same sizes, each of which depends on all inputs."""
        floats = [each.sum() * 0 for each in tensors if each.is_floating_point()]
        link = sum(floats[1:], floats[0]) if floats else tensors[0].sum() * 0
        return [(link + link.new_zeros(each.shape)).to(each.dtype) for each in self.all_results]


def tensors_of(tree: object) -> list[torch.Tensor]:
    """Return the tensors in a tree."""
    return [each for each in tree_leaves(tree) if isinstance(each, torch.Tensor)]


def constants_of(tree: object) -> list[object]:
    """Return the leaves of a tree that are not tensors."""
    return [each for each in tree_leaves(tree) if not isinstance(each, torch.Tensor)]


def filled(pattern: object, tensors: list[torch.Tensor]) -> Any:
    """Return a pattern with tensors in place of its own."""
    left = iter(tensors)
    return tree_map(lambda leaf: next(left) if isinstance(leaf, torch.Tensor) else leaf, pattern)


def operator_of(whole: Whole) -> Callable[..., Any]:
    """Define the operator that runs a module, and return it from `torch.ops`.

    Raises:
        UnsupportedError: The module cannot be pickled.
    """
    try:
        stored = _stored(whole)
    except (pickle.PicklingError, AttributeError, RuntimeError, TypeError) as error:
        raise UnsupportedError(f"{type(whole.module).__name__} stays whole, and cannot be stored: {error}") from None
    name = f"{type(whole.module).__name__}_{hashlib.sha256(stored).hexdigest()[:8]}"
    _define(name, stored)
    operator: Callable[..., Any] = getattr(getattr(torch.ops, NAMESPACE), name)
    return operator


def whole(file: str, name: str) -> str:
    """Define the operator for a module that is stored next to a package's file, and return its name."""
    _define(name, Path(file).with_name(name + SUFFIX).read_bytes())
    return f"{NAMESPACE}::{name}"


def source_of(name: str) -> str | None:
    """Return the expression that defines an operator and gives its name; None if it is no such module."""
    short = name.partition("::")[2]
    return f'whole(__file__, "{short}")' if name.startswith(f"{NAMESPACE}::") else None


def kept(names: Iterable[str]) -> dict[str, bytes]:
    """Return the stored modules that a package needs for its operators, by file name."""
    shorts = (name.partition("::")[2] for name in names if name.startswith(f"{NAMESPACE}::"))
    return {short + SUFFIX: _KEPT[short] for short in shorts}


def _define(name: str, stored: bytes) -> None:
    if name not in _KEPT:
        _KEPT[name] = stored
        _LIBRARY.define(f"{name}(Tensor[] given) -> Tensor[]")
        _LIBRARY.impl(name, _kernel(stored), "CompositeImplicitAutograd")


def _kernel(stored: bytes) -> Callable[[list[torch.Tensor]], list[torch.Tensor]]:
    made: list[Whole] = []

    def run(given: list[object]) -> list[torch.Tensor]:
        if not made:
            made.append(pickle.loads(stored))
        return made[0].run(given)

    return run


def is_abstract(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has no values of its own, as in a trace."""
    return tensor.is_meta or isinstance(tensor, (FakeTensor, FunctionalTensor))


def _stored(whole: Whole) -> bytes:
    file = io.BytesIO()
    module = whole.module
    _Pickler(file, {*module.parameters(), *module.buffers()}).dump(whole)
    return file.getvalue()


class _Pickler(pickle.Pickler):
    """A pickler that leaves out the values that every call passes."""

    def __init__(self, file: IO[bytes], brought: set[object]) -> None:
        super().__init__(file)
        self._brought = brought

    def reducer_override(self, value: object) -> Any:
        if not isinstance(value, torch.Tensor) or value not in self._brought:
            return NotImplemented
        return _blank, (tuple(value.shape), value.dtype, isinstance(value, torch.nn.Parameter), value.requires_grad)


def _blank(shape: tuple[int, ...], dtype: object, is_parameter: bool, requires_grad: bool) -> object:
    tensor = torch.empty(shape, dtype=dtype, device="meta")
    return torch.nn.Parameter(tensor, requires_grad) if is_parameter else tensor
