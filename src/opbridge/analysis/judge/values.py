"""Save arguments and results for other processes: numbers as bytes, never objects that could run code."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from opbridge.base.errors import InputError
from opbridge.base.safe_open import open_file

_MOST_BYTES = 4 << 30
_MOST_HEAD = 4 << 20
"""The most bytes of a head; networks with thousands of tensors need some hundred KiB."""
_SIZES = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "complex32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}
"""The bytes of an element; types of other names begin with `float8` and have one."""


@dataclass(frozen=True)
class Array:
    """A tensor as bytes."""

    dtype: str
    """The PyTorch name of the element type, without `torch.`."""
    shape: tuple[int, ...]
    data: bytes

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Named:
    """An element type or a device, by its name."""

    name: str


def save(path: Path, value: object) -> None:
    """Write a value to a file; raise InputError if it has parts other than tensors, numbers and containers."""
    blobs: list[Array] = []
    tree = _plain(value, blobs)
    head = json.dumps({"tree": tree, "arrays": [[one.dtype, one.shape, len(one.data)] for one in blobs]}).encode()
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for one in blobs:
            file.write(one.data)


def load(path: Path, most: int = _MOST_BYTES) -> Any:
    """Read a value that `save` wrote, of at most that many bytes.

    Raises:
        InputError: The file is anything else: its writer is not trusted.
    """
    return _loaded(path, None, most)


def load_as(path: Path, wanted: object) -> Any:
    """Read a value whose tensors should have the types and sizes of those in `wanted`.

    If they have others, return the value with arrays that have no bytes: no more is read than `wanted` has.

    Raises:
        InputError: The file is not a regular file, or has not exactly the bytes that its head declares.
    """
    return _loaded(path, [_outline(array) for array in arrays_of(wanted)], _MOST_BYTES)


def copy_given(source: Path, target: Path) -> None:
    """Copy a file that an untrusted process wrote to a place where nothing is yet.

    Raises:
        InputError: It is not a regular file, or no value.
    """
    try:
        with open(open_file(source, follow=False), "rb") as file, open(target, "xb") as copy:
            _head(file, _MOST_BYTES)
            file.seek(0)
            shutil.copyfileobj(file, copy)
    except OSError as error:
        raise InputError(f"{source.name} cannot be handed over: {error.strerror}") from None
    except _NOT_A_VALUE as error:
        raise InputError(f"{source.name} is not the file that a process was expected to write: {error}") from None


def _loaded(path: Path, wanted: list[_Outline] | None, most: int) -> Any:
    try:
        with open(open_file(path, follow=False), "rb") as file:
            head, outlines = _head(file, most)
            if wanted is not None and wanted != outlines:
                return _rich(head["tree"], [Array(dtype, shape, b"") for dtype, shape in outlines])
            return _rich(head["tree"], [_array(file, *one) for one in head["arrays"]])
    except OSError as error:
        raise InputError(
            f"{path.name} is not the file that a process was expected to write: {error.strerror}"
        ) from None
    except _NOT_A_VALUE as error:
        raise InputError(f"{path.name} is not the file that a process was expected to write: {error}") from None


_NOT_A_VALUE = (ValueError, KeyError, TypeError, IndexError, RecursionError, MemoryError, AttributeError)
"""The errors of reading a file that `save` did not write."""
_Outline = tuple[str, tuple[int, ...]]
"""The element type and the shape of a tensor."""


def _outline(array: Array) -> _Outline:
    return array.dtype, tuple(array.shape)


def _head(file: BinaryIO, most: int) -> tuple[dict[str, Any], list[_Outline]]:
    """Read the head of a file, and check it against the size of the file."""
    length = int.from_bytes(file.read(8), "little")
    if length > _MOST_HEAD:
        raise ValueError("its head is too large")
    head = json.loads(file.read(length))
    outlines = [(str(dtype), tuple(shape)) for dtype, shape, _ in head["arrays"]]
    sizes = [size for _, _, size in head["arrays"]]
    for (dtype, shape), size in zip(outlines, sizes, strict=True):
        if not all(type(n) is int and n >= 0 for n in (*shape, size)):
            raise ValueError("its sizes are not sizes")
        if size and size != math.prod(shape) * bytes_of_element(dtype):
            raise ValueError(f"a tensor has {size} bytes, which are not those of {dtype}{list(shape)}")
    total = os.fstat(file.fileno()).st_size
    if total > most or total != 8 + length + sum(sizes):
        raise ValueError(f"it has {total} bytes, and its head declares {8 + length + sum(sizes)}")
    return head, outlines


def bytes_of_element(dtype: str) -> int:
    """Return the size of an element type; raise ValueError if there is no such type."""
    if dtype.startswith("float8"):
        return 1
    if dtype not in _SIZES:
        raise ValueError(f"{dtype!r:.40} is not an element type")
    return _SIZES[dtype]


def _array(file: BinaryIO, dtype: str, shape: list[int], size: int) -> Array:
    data = file.read(size)
    if len(data) != size:
        raise ValueError("it ends early")
    return Array(dtype, tuple(shape), data)


def each_array(value: object, visit: Callable[[Array], None]) -> None:
    """Call `visit` with each array in a nested value, in order."""
    if isinstance(value, Array):
        visit(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            each_array(item, visit)
    elif isinstance(value, dict):
        for item in value.values():
            each_array(item, visit)


def arrays_of(value: object) -> list[Array]:
    """Return the arrays in a nested value, in order."""
    found: list[Array] = []
    each_array(value, found.append)
    return found


def bytes_of(value: object) -> int:
    """Return the number of bytes of all arrays in a nested value."""
    return sum(len(array.data) for array in arrays_of(value))


def elements(value: object) -> int:
    """Return the number of elements of all arrays in a nested value."""
    return sum(math.prod(array.shape) for array in arrays_of(value))


def _plain(value: object, blobs: list[Array]) -> object:
    if isinstance(value, Array):
        blobs.append(value)
        return {"array": len(blobs) - 1}
    if isinstance(value, Named):
        return {"named": value.name}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_plain(item, blobs) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _plain(item, blobs)] for key, item in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(f"a value of {type(value).__name__} cannot be given to another process: expected tensors, numbers")


def _rich(tree: Any, arrays: list[Array]) -> Any:
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "named":
        return Named(content)
    if kind == "dict":
        return {key: _rich(item, arrays) for key, item in content}
    items = [_rich(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items
