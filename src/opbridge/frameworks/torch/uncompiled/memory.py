"""Share the memory of tensors with NumPy arrays during a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from opbridge.base.errors import CallError, UnsupportedError
from opbridge.frameworks.torch.fake_outputs import dtype_name


class TensorMemory:
    """The memory that one call of an operator shares."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self._lent: dict[int, tuple[object, Tensor]] = {}
        """The arrays and their tensors by array id; keeping the arrays keeps the ids valid."""

    def array(self, value: object) -> Any:
        """Return an argument as NumPy accepts it, with tensors as arrays that share their memory.

        Raises:
            OpbridgeError: A tensor cannot be shared with NumPy.
        """
        if isinstance(value, (list, tuple)):
            return [self.array(item) for item in value]
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if not isinstance(value, Tensor):
            return value
        self._check(value)
        plain = value.detach().resolve_conj().resolve_neg()
        array = self._bfloat16(plain) if plain.dtype == torch.bfloat16 else plain.numpy()
        self._lent[id(array)] = array, value
        return array

    def tensor(self, result: object) -> Any:
        """Return a result as a tensor; an array that was an argument becomes the original tensor."""
        if result is None or id(result) in self._lent:
            return None if result is None else self._lent[id(result)][1]
        array = np.asarray(result)
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def _check(self, value: Tensor) -> None:
        if value.device.type != "cpu":
            raise UnsupportedError(
                f"{self.operator}: a tensor on {value.device} needs the native adapter, which must be compiled; "
                "install a C++ compiler, or call it with x.cpu()"
            )
        if value.layout != torch.strided:
            layout = str(value.layout).removeprefix("torch.")
            raise CallError(f"{self.operator}: expected strided tensors, got one that is {layout}; write x.to_dense()")
        last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
        size = value.untyped_storage().nbytes()
        if value.numel() and (value.storage_offset() + last + 1) * value.element_size() > size:
            shape = list(value.shape)
            raise CallError(f"{self.operator}: a tensor of shape {shape} lies in a storage of only {size} bytes")

    def _bfloat16(self, value: Tensor) -> object:
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError(
                f"{self.operator}: a bfloat16 tensor needs the native adapter, which must be compiled, or the "
                "package ml_dtypes; install a C++ compiler or `pip install ml_dtypes`"
            ) from None
        return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)


def check_all_meta(operator: str, arguments: Mapping[str, object]) -> None:
    """Raise CallError if only some tensors are on the meta device; as in PyTorch, a single number is allowed."""
    tensors = [
        (name, item)
        for name, value in arguments.items()
        for item in (value if isinstance(value, (list, tuple)) else (value,))
        if isinstance(item, Tensor)
    ]
    if any(item.is_meta for _, item in tensors):
        for name, item in tensors:
            if not item.is_meta and item.ndim > 0:
                raise CallError(
                    f"{operator}: argument '{name}' is on {item.device}, the others are on meta; move it there with "
                    '.to("meta")'
                )
