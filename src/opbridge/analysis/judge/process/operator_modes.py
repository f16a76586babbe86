"""Record the PyTorch operators that run, what they compute, and what they return."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from opbridge.analysis.judge.process.arithmetic import operations_of
from opbridge.analysis.judge.tensors import tensors_in, to_values

_MEMORY = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_zeros", "zeros", "zeros_like", "ones", "ones_like"),
    *("fill_", "fill", "zero_", "full", "full_like", "copy_", "clone", "_to_copy", "detach", "contiguous", "view"),
    *("reshape", "_unsafe_view", "expand", "slice", "select", "squeeze", "unsqueeze", "transpose", "t", "permute"),
    *("alias", "as_strided", "split", "unbind", "lift_fresh", "_reshape_alias", "item", "_local_scalar_dense", "set_"),
    *("resize_", "chunk", "narrow", "flatten", "record_stream", "is_pinned", "normal_", "uniform_", "random_"),
}


_MOST_RESULTS = 256


class Operators(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode that counts what operators do within it.

    It records the names of those that do more than create, view and move memory, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.operations = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name not in _MEMORY:
            self.names.append(name.removesuffix("_"))
        result = func(*args, **(kwargs or {}))
        self.operations += operations_of(func, args, kwargs or {}, result)
        return result


class Results(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode that keeps the results of operators that have one of the given numbers of elements.

    Operators that move memory count too: what NumPy or a library of the host computed comes to the device by one.
    """

    def __init__(self, sizes: set[int], most_bytes: int) -> None:
        super().__init__()
        self._sizes, self._left = sizes, most_bytes
        self.kept: list[Any] = []
        self._seen: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tensors_in(result):
            self._keep(tensor)
        return result

    def _keep(self, tensor: Any) -> None:
        size = tensor.numel() * tensor.element_size()
        if tensor.numel() not in self._sizes or size > self._left or len(self.kept) >= _MOST_RESULTS:
            return
        array = to_values(tensor)
        if hash(array) not in self._seen:
            self._seen.add(hash(array))
            self._left -= size
            self.kept.append(array)
