"""The process that calls the InferShape functions of a project, any of which may crash it."""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.twins.ascend.projects.calls import Call
from opbridge.twins.ascend.projects.definition import Definition

_ROOM = 25
Answer = tuple[tuple[int, ...], ...]
"""The sizes of each output."""


@dataclass(frozen=True)
class Question:
    """The input shapes and attributes of one call."""

    shapes: tuple[tuple[int, ...], ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class _Zeros:
    """An array for functions that read shapes, with a few zeros for those that also read values."""

    shape: tuple[int, ...]
    memory: Any

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {"shape": self.shape, "data": (ctypes.addressof(self.memory), False), "version": 3}


def packed(library: Path, definition: Definition, questions: Sequence[Question]) -> bytes:
    """Return the questions as input for the process."""
    return pickle.dumps((str(library), definition, [(one.shapes, dict(one.attributes)) for one in questions]))


def unpacked(output: bytes) -> list[Answer | None]:
    """Return the answers in the output of the process, one for each complete line."""
    lines = output.split(b"\n")[:-1]
    return [
        tuple(tuple(int(size) for size in sizes.split(b",") if size) for sizes in line.split(b";"))
        if line != b"none"
        else None
        for line in lines
    ]


def main() -> None:
    """Answer the questions on standard input, one line each."""
    path, definition, questions = pickle.load(sys.stdin.buffer)
    library = ctypes.CDLL(path)
    memory = ctypes.create_string_buffer(1 << 16)
    for shapes, attributes in questions:
        answer = _answer(library, definition, [_Zeros(shape, memory) for shape in shapes], attributes)
        text = "none" if answer is None else ";".join(",".join(map(str, sizes)) for sizes in answer)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def _answer(
    library: ctypes.CDLL, definition: Definition, inputs: Sequence[_Zeros], attributes: Mapping[str, object]
) -> Answer | None:
    count = len(definition.outputs)
    sizes = ((ctypes.c_int64 * _ROOM) * count)()
    ranks, types = (ctypes.c_int32 * count)(), (ctypes.c_int32 * count)()
    with Call(definition, [*inputs, *[None] * count], attributes, 0) as call:
        status = library.ob_ascend_infer(ctypes.byref(call.whole), sizes, ranks, types)
    return None if status else tuple(tuple(sizes[k][: ranks[k]]) for k in range(count))
