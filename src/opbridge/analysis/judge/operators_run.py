"""Record the PyTorch operators that run, except those that only create, view and move memory."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_MEMORY = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_zeros", "zeros", "zeros_like", "ones", "ones_like"),
    *("fill_", "fill", "zero_", "full", "full_like", "copy_", "clone", "_to_copy", "detach", "contiguous", "view"),
    *("reshape", "_unsafe_view", "expand", "slice", "select", "squeeze", "unsqueeze", "transpose", "t", "permute"),
    *("alias", "as_strided", "split", "unbind", "lift_fresh", "_reshape_alias", "item", "_local_scalar_dense", "set_"),
    *("resize_", "chunk", "narrow", "flatten", "record_stream", "is_pinned", "normal_", "uniform_", "random_"),
}


class Operators(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode that records the names of the operators that run within it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name not in _MEMORY:
            self.names.append(name.removesuffix("_"))
        return func(*args, **(kwargs or {}))
