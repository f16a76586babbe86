"""Convert values between NumPy and PyTorch where the conversions of PyTorch end; the native adapter calls this.

Errors here are built-in Python errors; the caller adds the operator name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from opbridge.base.errors import did_you_mean

Array = np.ndarray
AnyArray = np.ndarray[Any, Any]
Number = np.generic

_ENUMS = {"Layout": "torch.layout", "MemoryFormat": "torch.memory_format"}
_PYTHON_TYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def as_attribute(type_: str, value: object) -> object:
    """Return the value that PyTorch accepts for a schema type; raise TypeError if there is none."""
    base = type_.rstrip("?")
    if value is None:
        return None
    if isinstance(value, np.generic):
        return value.item()
    if base.endswith("[]") and isinstance(value, (np.ndarray, tuple, list, range)):
        return [item.item() if isinstance(item, np.generic) else item for item in value]
    if base == "ScalarType":
        return as_dtype(value)
    if base == "Device" and isinstance(value, str):
        return torch.device(value)
    if base in _ENUMS and isinstance(value, str):
        found = getattr(torch, value, None)
        if str(type(found)) != f"<class '{_ENUMS[base]}'>":
            raise TypeError(f"PyTorch has no {base} '{value}'")
        return found
    return value


def as_dtype(value: Any) -> torch.dtype:
    """Return the PyTorch element type for a name, an element type of NumPy or ml_dtypes, or a Python type."""
    if isinstance(value, torch.dtype):
        return value
    if isinstance(value, type) and value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    name = value if isinstance(value, str) else np.dtype(value).name
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"PyTorch has no element type '{name}'")
    return found


def as_tensor(array: object) -> torch.Tensor:
    """Copy an array whose memory PyTorch cannot address to a tensor."""
    plain = np.array(array, order="C")
    native = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    dtype = getattr(torch, native.dtype.name, None)
    if not isinstance(dtype, torch.dtype):
        raise TypeError(
            f"expected an array of numbers, got one of dtype {native.dtype}; convert it with .astype(...) first"
        )
    if native.dtype.kind == "V":  # an ml_dtypes type; pass its bits as integers
        return torch.from_numpy(native.view(f"uint{native.itemsize * 8}")).view(dtype)
    return torch.from_numpy(native)


def as_array(tensor: torch.Tensor) -> AnyArray:
    """Return a tensor as an array, even if NumPy lacks its element type.

    Raises:
        NotImplementedError: The tensor is not dense, is not on the CPU, or has a type that nothing
            provides.
    """
    if tensor.layout is not torch.strided or tensor.is_quantized:
        form = "quantized" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
        raise NotImplementedError(f"the result is {form}, which NumPy has no array for; call op.torch")
    if tensor.device.type != "cpu":
        raise NotImplementedError(f"the result is on {tensor.device}, where no array can be; leave out `device`")
    dense = tensor.resolve_conj().resolve_neg()
    name = str(dense.dtype).removeprefix("torch.")
    if hasattr(np, name):
        plain: AnyArray = dense.numpy()
        return plain
    try:
        import ml_dtypes

        dtype = getattr(ml_dtypes, name)
    except (ImportError, AttributeError):
        raise NotImplementedError(
            f"the result is of dtype {name}, which NumPy lacks; `pip install ml_dtypes` adds it where it is available"
        ) from None
    bits: AnyArray = dense.view(getattr(torch, f"uint{dense.itemsize * 8}")).numpy()
    return bits.view(dtype)


def write_back(tensor: torch.Tensor, array: AnyArray) -> None:
    """Copy a tensor to an array if the shape is the same and the array is writable."""
    if tuple(tensor.shape) == array.shape and array.flags.writeable:
        np.copyto(array, as_array(tensor))


def is_writable(array: AnyArray) -> bool:
    """Return whether the array is writable."""
    return bool(array.flags.writeable)


def protect(array: AnyArray) -> AnyArray:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def suggest(word: str, known: tuple[str, ...]) -> str:
    """Return a hint with the most similar known word."""
    return did_you_mean(word, known)
