"""Read the files that the twin's library leaves for a process: the instructions of blocks, in program order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
"""The pipes, in the order of the library's numbers for them."""
MEMORIES = ("unified buffer", "L1", "L0A", "L0B", "L0C", "bias table")


@dataclass(frozen=True)
class Site:
    """An instruction in the source of the kernel."""

    name: str
    place: str
    pipe: str


@dataclass(frozen=True)
class Operand:
    """The part of a tensor in local memory that one instruction uses."""

    memory: str
    writes: bool
    bytes: int


@dataclass(frozen=True)
class Step:
    """One executed instruction."""

    site: Site
    known: tuple[int, ...]
    """The number of instructions of each pipe that end before it begins."""
    from_global: int
    to_global: int
    """Bytes, like `from_global`."""
    pieces: int
    """The number of contiguous ranges of global memory."""
    misaligned: int
    """The number of these ranges that do not begin at a multiple of 512 bytes."""
    operands: tuple[Operand, ...]

    @property
    def widest(self) -> int:
        """The bytes of the largest operand."""
        return max((operand.bytes for operand in self.operands), default=0)

    def bytes_of(self, memory: str) -> int:
        """Return the bytes of the largest operand in a memory."""
        return max((operand.bytes for operand in self.operands if operand.memory == memory), default=0)


@dataclass(frozen=True)
class Buffers:
    """The buffers of one InitBuffer call."""

    position: str
    count: int
    bytes: int
    """Bytes of each buffer."""
    place: str


@dataclass(frozen=True)
class Core:
    """The run of one block."""

    is_cut: bool
    """Whether it has more instructions than are kept."""
    buffers: tuple[Buffers, ...]
    most: dict[str, int]
    """The most bytes of each memory that were in use at a time."""
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Recorded:
    """The launches of one kernel with a number of blocks."""

    name: str
    blocks: int
    cores_per_block: int
    is_cube: bool
    soc: str
    memories: dict[str, int]
    """The size of each memory, in bytes."""
    launches: int
    cores: tuple[Core, ...]


def read(folder: Path) -> Iterator[Recorded]:
    """Yield the launches of all processes that left a file in a folder."""
    for file in sorted(folder.glob("*.steps")):
        for launch in json.loads(file.read_text(errors="replace")):
            launch["cores"] = tuple(map(_core, launch["cores"]))
            launch["memories"] = dict(zip(MEMORIES, launch["memories"], strict=True))
            yield Recorded(**launch)


def _core(document: dict[str, Any]) -> Core:
    sites = [Site(*site) for site in document["sites"]]
    buffers = tuple(Buffers(*taken) for taken in document["buffers"])
    most = dict(zip(MEMORIES, document["most"], strict=True))
    return Core(document["cut"], buffers, most, tuple(_step(row, sites) for row in document["steps"]))


def _step(row: list[Any], sites: list[Site]) -> Step:
    site, known, from_global, to_global, pieces, misaligned, operands = row
    named = tuple(Operand(MEMORIES[memory], bool(writes), size) for memory, writes, size in operands)
    return Step(sites[site], tuple(known), from_global, to_global, pieces, misaligned, named)
