"""Count the operations of a PyTorch operator, and the bytes of its inputs and results."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from opbridge.analysis.profile.pytorch.convolutions import window_of
from opbridge.analysis.profile.pytorch.norms import means_of
from opbridge.analysis.profile.pytorch.operator_times import Call

_FREE = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "detach", "lift_fresh", "alias"),
    *("_unsafe_view", "_reshape_alias", "set_", "resize_", "is_pinned", "record_stream", "_local_scalar_dense"),
}


def call_of(func: Any, args: Any, kwargs: Any, result: Any) -> Call:
    """Return the record of one operator call."""
    name = func._schema.name.partition("::")[2]
    # A tensor that is changed in place is both input and result.
    moved = [*_tensors((args, kwargs)), *_tensors(result)]
    main = max(moved, key=lambda value: value.numel(), default=None)
    count = flop_registry.get(func._overloadpacket)
    operations = float(count(*args, **kwargs, out_val=result)) if count is not None else 0.0
    size = 0 if name in _FREE else sum(bytes_of(value) for value in moved)
    dtype = dtype_of(main) if main is not None else ""
    window = window_of(args, result) if name == "convolution" else None
    return Call(name, dtype, operations, size, window, means=means_of(name, args))


def _tensors(values: object) -> list[torch.Tensor]:
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]


def dtype_of(value: torch.Tensor) -> str:
    """Return the element type of a tensor by name: `float32`."""
    return str(value.dtype).removeprefix("torch.")


def bytes_of(value: torch.Tensor) -> int:
    """Return the bytes in memory, where a broadcast tensor is stored once."""
    held = int(value.untyped_storage().nbytes())
    return min(int(value.numel() * value.element_size()), held)
