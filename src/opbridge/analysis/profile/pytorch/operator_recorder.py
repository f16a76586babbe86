"""Record PyTorch operators without computing them: results have the right sizes, and zeros or no values."""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_SHARED, mmap
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from opbridge.analysis.profile.pytorch.operator_counts import call_of
from opbridge.analysis.profile.pytorch.operator_times import Call

_COMPUTED = {
    *("_local_scalar_dense", "item", "nonzero", "unique", "_unique2", "unique_consecutive", "unique_dim"),
    *("masked_select", "bincount", "equal", "is_nonzero"),
}
"""Operators whose result sizes depend on values."""
_SMALL = 1 << 16
"""The most elements of tensors that are computed after all: sizes, indices and scales are small."""

_NOT_RESERVED = 0x4000
"""The mapping flag MAP_NORESERVE of Linux, which Python defines since 3.13."""


class Hollow(TorchDispatchMode):  # type: ignore[misc]
    """A mode that records operator calls and computes only views, small tensors and data-dependent sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if func.is_view or name in _COMPUTED or _is_small(args, kwargs):
            result = func(*args, **kwargs)
        else:
            result = _hollow(func, args, kwargs)
        if not func.is_view:
            self.calls.append(call_of(func, args, kwargs, result))
        return result


def _is_small(args: object, kwargs: object) -> bool:
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    return bool(tensors) and all(value.numel() <= _SMALL for value in tensors)


def _hollow(func: Any, args: Any, kwargs: Any) -> object:
    written = _written(func, args, kwargs)
    if written:
        return written[0] if len(func._schema.returns) == 1 else tuple(written[: len(func._schema.returns)])
    devices = [value.device for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    device = kwargs.get("device") or (devices[0] if devices else "cpu")
    on_meta = tree_map_only(torch.Tensor, _as_meta, (args, kwargs))
    try:
        outputs = func(*on_meta[0], **{**on_meta[1], **({"device": "meta"} if "device" in kwargs else {})})
    except (NotImplementedError, RuntimeError):
        return func(*args, **kwargs)
    if not devices and all(value.numel() <= _SMALL for value in tree_leaves(outputs)):
        return func(*args, **kwargs)
    return tree_map_only(torch.Tensor, lambda value: _as_memory(value, device), outputs)


def _written(func: Any, args: Any, kwargs: Any) -> list[object]:
    """Return the arguments that the operator changes, whose values stay unchanged here."""
    arguments = func._schema.arguments
    given = {argument.name: value for argument, value in zip(arguments, args, strict=False)} | kwargs
    changed = (argument.name for argument in arguments if argument.alias_info and argument.alias_info.is_write)
    return [given[name] for name in changed if name in given]


def _as_meta(value: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _as_memory(value: torch.Tensor, device: object) -> torch.Tensor:
    if torch.device(device).type == "cpu" and value.numel() > _SMALL:
        # It is never written, so it takes no memory; private memory would still count against the limit.
        held = mmap(-1, value.untyped_storage().nbytes(), flags=MAP_SHARED | MAP_ANONYMOUS | _NOT_RESERVED)
        return torch.frombuffer(held, dtype=value.dtype).as_strided(value.shape, value.stride())
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
