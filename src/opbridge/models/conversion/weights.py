"""The safetensors format: eight bytes with the length of a JSON head, the head, and the bytes of all tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opbridge.base.errors import InputError

Array = NDArray[Any]

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
    "C128": "complex128",
}
_NAMES = {name: short for short, name in _DTYPES.items()}
_LENGTH = 8


def save(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to a safetensors file; raise InputError for a dtype that the format does not have."""
    head: dict[str, object] = {}
    position = 0
    for name, array in arrays.items():
        end = position + array.nbytes
        head[name] = {"dtype": _short(name, array), "shape": array.shape, "data_offsets": [position, end]}
        position = end
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % _LENGTH)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(_LENGTH, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def load(path: Path) -> dict[str, Array]:
    """Read the arrays of a safetensors file; raise InputError if it is none."""
    data = path.read_bytes()
    length = int.from_bytes(data[:_LENGTH], "little")
    try:
        head = json.loads(data[_LENGTH : _LENGTH + length])
        return {name: _array(entry, data, _LENGTH + length) for name, entry in head.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a file of safetensors: {error}") from None


def _short(name: str, array: Array) -> str:
    try:
        return _NAMES[array.dtype.name]
    except KeyError:
        raise InputError(f"{name} holds {array.dtype}, which safetensors cannot") from None


def _array(entry: Mapping[str, object], data: bytes, start: int) -> Array:
    name = _DTYPES[str(entry["dtype"])]
    dtype = _bfloat16() if name == "bfloat16" else np.dtype(name)
    shape, offsets = entry["shape"], entry["data_offsets"]
    assert isinstance(shape, list)
    assert isinstance(offsets, list)
    return np.frombuffer(data[start + offsets[0] : start + offsets[1]], dtype).reshape(shape).copy()


def _bfloat16() -> Any:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
