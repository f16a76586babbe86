"""Values of tensors that depend on neither the inputs nor the state of a network; torch.export has no values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from opbridge.models.conversion.assumptions import Assumptions


class KnownValues(TorchFunctionMode):  # type: ignore[misc]
    """A mode that answers a network's questions about such tensors, as whether its own mask has a zero.

    Each such tensor has a twin, a tensor with values that is computed next to it.
    """

    def __init__(self, assumptions: Assumptions | None = None) -> None:
        """Create the mode; with `assumptions`, assumed values are known too, and such answers recorded."""
        super().__init__()
        self._changed: set[int] = set()
        """Memory of twins to which unknown values were written."""
        self._assumptions = assumptions
        self._assumed: set[int] = set()
        """Memory of twins that hold assumed values."""

    def assume(self, tensor: object, twin: object) -> None:
        """Assume that a tensor has the values of `twin`."""
        self._assumed.add(_memory(twin))
        setattr(tensor, _TWIN, twin)

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        kwargs = kwargs or {}
        if torch.compiler.is_dynamo_compiling():  # Dynamo traces the parts of control flow, and this mode with them.
            return func(*args, **kwargs)
        known = self._computed(func, args, kwargs)
        if known is not _UNKNOWN and func.__name__ in _ASKED:
            return known if self._is_granted(args) else func(*args, **kwargs)
        if known is not _UNKNOWN and func.__name__ in _FACTORIES:  # Known tensors, as in torch.arange(count).
            args, kwargs = tree_map(self._number, (tuple(args), dict(kwargs)))
        elif self._assumptions is not None:
            func, args = self._with_sizes(func, args)
        result = func(*args, **kwargs)
        twins = tree_leaves(known) if isinstance(known, (tuple, list)) else [known]
        for each, twin in zip_longest(tree_leaves(result), twins):
            if isinstance(each, (FakeTensor, FunctionalTensor)):
                setattr(each, _TWIN, twin if isinstance(twin, torch.Tensor) else None)
        return result

    def _is_granted(self, asked: object) -> bool:
        """Record the assumed tensors that are asked; return False, and record none, if one is too large."""
        assumed = [each for each in tree_leaves(asked) if self._is_assumed(each)]
        if any(each.numel() > _MOST_ASSUMED for each in assumed):
            return False
        for each in assumed:
            assert self._assumptions is not None
            self._assumptions.add(each, _outside(torch.Tensor.tolist, (_twin(each),), {}), caller())
        return True

    def _number(self, value: object) -> object:
        """Return a known tensor without axes as a number, and any other value unchanged."""
        is_number = isinstance(value, torch.Tensor) and not value.ndim and self._is_known(value)
        return _outside(torch.Tensor.item, (_twin(value),), {}) if is_number and self._is_granted(value) else value

    def _with_sizes(self, func: Callable[..., object], args: Sequence[Any]) -> tuple[object, object]:
        """Return a call that takes a known number of elements, by a mask or between known numbers."""
        if func is torch.Tensor.__getitem__:
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            return func, (args[0], tuple(each for part in parts for each in self._index(part)))
        if getattr(func, "__name__", "") in _TAKE_NUMBERS:
            return func, (*args[:1], *tree_map(self._number, tuple(args[1:])))
        if func in _PLACES and len(args) == 1 and args[0].ndim and self._is_known(args[0]):
            return partial(self._nonzero, func is torch.where), args
        return func, args

    def _nonzero(self, each_axis: bool, mask: object, as_tuple: bool = False) -> object:
        places = self._places(mask)
        return tuple(places) if each_axis or as_tuple else torch.stack(places, -1)

    def _index(self, part: object) -> Sequence[object]:
        if isinstance(part, slice):
            return [slice(*map(self._number, (part.start, part.stop, part.step)))]
        return self._places(part) if self._is_mask(part) else [part]

    def _is_mask(self, value: object) -> bool:
        return (
            isinstance(value, torch.Tensor) and value.dtype is torch.bool and value.ndim > 0 and self._is_known(value)
        )

    def _places(self, mask: torch.Tensor) -> Sequence[object]:
        """Return the places that a mask takes, as one index of known size per axis."""
        count = mask.count_nonzero()
        self.assume(count, _outside(torch.count_nonzero, (_twin(mask),), {}))
        return [*torch.nonzero_static(mask, size=self._number(count)).unbind(1)]

    def _computed(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Return the result of a call whose arguments are all known; else _UNKNOWN."""
        name = getattr(func, "__name__", "")
        leaves = tree_leaves((args, dict(kwargs)))
        place = _SIZED_AS.get(name, len(leaves))
        like = leaves[place] if len(leaves) > place else None
        if isinstance(like, torch.Tensor):
            leaves = [*leaves[:place], *like.shape, *leaves[place + 1 :]]
        elif name not in _FACTORIES and not any(isinstance(each, torch.Tensor) for each in leaves):
            return _UNKNOWN
        if name in _FINITE and leaves[0].requires_grad and not any(map(_is_free, leaves[0].shape)):
            return _outside(torch.full, (tuple(leaves[0].shape), _FINITE[name]), {})
        if all(map(self._is_known, leaves)):
            if isinstance(like, torch.Tensor):
                args = (*args[:place], _sized_as(like), *args[place + 1 :])
            known = _outside(func, *tree_map(_known, (tuple(args), dict(kwargs))))
            if any(map(self._is_assumed, leaves)):
                written = args[:1] if _writes(name, kwargs) else ()
                twins = tree_leaves((known, [*map(_twin, written)]))
                self._assumed |= {_memory(each) for each in twins if isinstance(each, torch.Tensor)}
            if known is not _UNKNOWN:
                return known
        for each in tree_leaves([args[:1] if _writes(name, kwargs) else (), kwargs.get("out")]):
            if (twin := _twin(each)) is not None:
                self._changed.add(_memory(twin))
        return _UNKNOWN

    def _is_assumed(self, value: object) -> bool:
        twin = _twin(value)
        return twin is not None and _memory(twin) in self._assumed

    def _is_known(self, value: object) -> bool:
        if isinstance(value, torch.Tensor):
            twin = _twin(value)
            return twin is not None and _memory(twin) not in self._changed
        return not _is_free(value) and not isinstance(value, (FunctionType, torch.nn.Module))


_UNKNOWN = object()
_TWIN = "_opbridge_twin"
_ASKED = frozenset({"__bool__", "__float__", "__index__", "__int__", "equal", "is_nonzero", "item", "tolist"})
_FACTORIES = frozenset({"arange", "as_tensor", "eye", "full", "linspace", "ones", "scalar_tensor", "tensor", "zeros"})
_SIZED_AS = {
    **dict.fromkeys(("full_like", "new_full", "new_ones", "new_zeros", "ones_like", "zeros_like"), 0),
    **dict.fromkeys(("expand_as", "reshape_as", "view_as"), 1),
}
"""The position of the argument of which only the sizes and the type matter."""
_IN_PLACE = "add and floordiv lshift mod mul or pow rshift sub truediv xor"
_WRITES = frozenset({"__set__", "__setitem__", *(f"__i{name}__" for name in _IN_PLACE.split())})
_SHAPED = {"expand", "pad", "repeat", "reshape", "unflatten", "view"}
_TAKE_NUMBERS = _SHAPED | {"narrow", "new_empty", "new_full", "new_ones", "new_zeros", "split"}
"""Functions whose arguments after the first are sizes, which a network may pass as tensors."""
_PLACES = (torch.nonzero, torch.Tensor.nonzero, torch.where)
_FINITE = {"isfinite": True, "isinf": False, "isnan": False}
"""The answers to a network that guards its results against overflow: there was none."""
_MOST_ELEMENTS = 1 << 20
_MOST_ASSUMED = 1 << 10


def _outside(func: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, object]) -> object:
    """Call a function with values, outside the trace; return _UNKNOWN if it fails, draws or is large."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        before = torch.get_rng_state()
        try:
            result = func(*args, **kwargs)
        except Exception:  # The network's own call raises the error.
            return _UNKNOWN
        if not torch.equal(before, torch.get_rng_state()):
            torch.set_rng_state(before)
            return _UNKNOWN
    is_kept = not isinstance(result, torch.Tensor) or result.numel() <= _MOST_ELEMENTS
    return result if is_kept else _UNKNOWN


def _writes(name: str, kwargs: Mapping[str, object]) -> bool:
    return name in _WRITES or (name.endswith("_") and not name.endswith("__")) or bool(kwargs.get("inplace"))


def _is_free(value: object) -> bool:
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _known(value: object) -> object:
    return getattr(value, _TWIN, value) if isinstance(value, torch.Tensor) else value


def _twin(value: object) -> object:
    return getattr(value, _TWIN, None)


def caller() -> str:
    """Return the line of the network that is being traced."""
    frames = [each for each in traceback.extract_stack() if not each.filename.startswith((*_NOT_THE_NETWORK, "<"))]
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}'


_NOT_THE_NETWORK = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _sized_as(tensor: torch.Tensor) -> object:
    return _outside(torch.empty, (tuple(tensor.shape),), {"dtype": tensor.dtype})
