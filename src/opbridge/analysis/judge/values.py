"""Save arguments and results for other processes: numbers as bytes, never objects that could run code."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError

_MOST_BYTES = 8 << 30


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


def load(path: Path) -> Any:
    """Read a value that `save` wrote; raise InputError if the file is anything else: its writer is not trusted."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("it is too large")
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        head = json.loads(content[8 : 8 + size])
        at, arrays = 8 + size, []
        for dtype, shape, length in head["arrays"]:
            if not all(isinstance(n, int) and n >= 0 for n in (*shape, length)) or at + length > len(content):
                raise ValueError("its sizes are no sizes")
            arrays.append(Array(str(dtype), tuple(shape), content[at : at + length]))
            at += length
        return _rich(head["tree"], arrays)
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise InputError(f"{path.name} is not the file that a process was expected to write: {error}") from None


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
