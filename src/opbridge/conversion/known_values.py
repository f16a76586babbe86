"""Values of tensors that depend on nothing that a network is given or holds, which torch.export traces without any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map


class KnownValues(TorchFunctionMode):  # type: ignore[misc]
    """Answers what a network asks of such tensors, as whether a mask of its own making has a zero.

    Each of them has a twin with values, which is computed beside it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[int] = set()
        """Memory of twins that was written to with what is not known."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.compiler.is_dynamo_compiling():  # Parts of control flow, of which Dynamo traces this too.
            return func(*args, **kwargs)
        known = self._computed(func, args, kwargs)
        if known is not _UNKNOWN and func.__name__ in _ASKED:
            return known
        if known is not _UNKNOWN and func.__name__ in _FACTORIES:  # Of known tensors, as torch.arange(count).
            args, kwargs = tree_map(_number, (tuple(args), dict(kwargs)))
        result = func(*args, **kwargs)
        if isinstance(result, (FakeTensor, FunctionalTensor)):
            setattr(result, _TWIN, known if isinstance(known, torch.Tensor) else None)
        return result

    def _computed(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a call gives, where all that it is given is known; else _UNKNOWN."""
        name = getattr(func, "__name__", "")
        leaves = tree_leaves((args, dict(kwargs)))
        like = leaves[0] if name in _FACTORIES_LIKE and leaves and isinstance(leaves[0], torch.Tensor) else None
        if like is not None:
            leaves = [*like.shape, *leaves[1:]]
        elif name not in _FACTORIES and not any(isinstance(each, torch.Tensor) for each in leaves):
            return _UNKNOWN
        if name in _FINITE and leaves[0].requires_grad and not any(map(_is_free, leaves[0].shape)):
            return _outside(torch.full, (tuple(leaves[0].shape), _FINITE[name]), {})
        if all(map(self._is_known, leaves)):
            if like is not None:
                args = (_sized_as(like), *args[1:])
            known = _outside(func, *tree_map(_known, (tuple(args), dict(kwargs))))
            if known is not _UNKNOWN:
                return known
        writes = name in _WRITES or (name.endswith("_") and not name.endswith("__")) or kwargs.get("inplace")
        for each in tree_leaves([args[:1] if writes else (), kwargs.get("out")]):
            if (twin := getattr(each, _TWIN, None)) is not None:
                self._changed.add(_memory(twin))
        return _UNKNOWN

    def _is_known(self, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            twin = getattr(value, _TWIN, None)
            return twin is not None and _memory(twin) not in self._changed
        return not _is_free(value) and not isinstance(value, (FunctionType, torch.nn.Module))


_UNKNOWN = object()
_TWIN = "_opbridge_twin"
_ASKED = frozenset({"__bool__", "__float__", "__index__", "__int__", "item", "tolist"})
_FACTORIES = frozenset({"arange", "eye", "full", "linspace", "ones", "scalar_tensor", "tensor", "zeros"})
_FACTORIES_LIKE = frozenset({"full_like", "new_full", "new_ones", "new_zeros", "ones_like", "zeros_like"})
"""Of the tensor they are given only the sizes and the type matter."""
_IN_PLACE = "add and floordiv lshift mod mul or pow rshift sub truediv xor"
_WRITES = frozenset({"__set__", "__setitem__", *(f"__i{name}__" for name in _IN_PLACE.split())})
_FINITE = {"isfinite": True, "isinf": False, "isnan": False}
"""What a network that guards against overflow is told of what it computes: it has not come to that."""
_MOST_ELEMENTS = 1 << 20


def _outside(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A call with values, beside the trace; _UNKNOWN where it fails, draws or is large."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        before = torch.get_rng_state()
        try:
            result = func(*args, **kwargs)
        except Exception:  # The network's own call will say so.
            return _UNKNOWN
        if not torch.equal(before, torch.get_rng_state()):
            torch.set_rng_state(before)
            return _UNKNOWN
    is_kept = not isinstance(result, torch.Tensor) or result.numel() <= _MOST_ELEMENTS
    return result if is_kept else _UNKNOWN


def _is_free(value: Any) -> bool:
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _known(value: Any) -> Any:
    return getattr(value, _TWIN, value) if isinstance(value, torch.Tensor) else value


def _number(value: Any) -> Any:
    return _known(value).item() if isinstance(value, torch.Tensor) and not value.ndim else value


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _sized_as(tensor: torch.Tensor) -> Any:
    return _outside(torch.empty, (tuple(tensor.shape),), {"dtype": tensor.dtype})
