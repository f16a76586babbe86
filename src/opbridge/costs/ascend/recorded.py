"""What the twin's library leaves of a process, read as it stands: the instructions of blocks, in program order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
"""By the numbers that the library has for them."""
MEMORIES = ("unified buffer", "L1", "L0A", "L0B", "L0C", "bias table")


@dataclass(frozen=True)
class Site:
    """An instruction of the kernel's text."""

    name: str
    place: str
    pipe: str


@dataclass(frozen=True)
class Operand:
    """A tensor in local memory, as far as one instruction uses it."""

    memory: str
    writes: bool
    bytes: int


@dataclass(frozen=True)
class Step:
    """One instruction, as it ran."""

    site: Site
    known: tuple[int, ...]
    """How many instructions of each pipe are over before it begins."""
    from_global: int
    to_global: int
    """Bytes."""
    pieces: int
    """Stretches of global memory."""
    misaligned: int
    """Of them, those that begin at no multiple of 512 bytes."""
    operands: tuple[Operand, ...]

    @property
    def widest(self) -> int:
        return max((operand.bytes for operand in self.operands), default=0)

    def bytes_of(self, memory: str) -> int:
        return max((operand.bytes for operand in self.operands if operand.memory == memory), default=0)


@dataclass(frozen=True)
class Buffers:
    """What one InitBuffer took."""

    position: str
    count: int
    bytes: int
    """Of each."""
    place: str


@dataclass(frozen=True)
class Core:
    """One block's run."""

    is_cut: bool
    """It did more than is kept."""
    buffers: tuple[Buffers, ...]
    most: dict[str, int]
    """Bytes of each memory that were taken at a time."""
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Recorded:
    """The launches of one kernel with so many blocks."""

    name: str
    blocks: int
    cores_per_block: int
    is_cube: bool
    soc: str
    memories: dict[str, int]
    """How large they are."""
    launches: int
    cores: tuple[Core, ...]


def read(folder: Path) -> Iterator[Recorded]:
    """Of all processes that have left a file there."""
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
