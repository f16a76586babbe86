"""Read the files that the twin's library leaves for a process: counts by address in the code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.analysis.profile.counts import KINDS, SPACES, Kind, Tally


@dataclass(frozen=True)
class Count(Tally):
    """The counts of one address in the code."""

    address: int
    array: int
    """The number in the list of arrays, from 1."""


@dataclass(frozen=True)
class Array:
    """An array in global memory that a kernel used."""

    name: str
    made_at: int
    bytes: int
    is_read: bool
    is_written: bool


@dataclass(frozen=True)
class Request:
    """The first request of a warp at a place in the code."""

    address: int
    kind: Kind
    array: int
    """The number in the list of arrays, from 1; 0 is shared memory."""
    warp: int
    bytes: int
    """Bytes of each lane."""
    lanes: tuple[tuple[int, int], ...]
    """The number of each lane, and the offset of its bytes in the array."""


@dataclass(frozen=True)
class Image:
    """A code file, and its place in memory."""

    path: str
    base: int
    begin: int
    end: int


@dataclass(frozen=True)
class Counted:
    """The launches of one kernel with equal sizes."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    static_shared: int
    launches: int
    profiled_launches: int
    profiled_blocks: int
    left_out: int
    arrays: tuple[Array, ...]
    counts: tuple[Count, ...]
    requests: tuple[Request, ...]
    """The requests of the first block of the first launch."""
    images: tuple[Image, ...]

    @property
    def blocks(self) -> int:
        """The blocks of one launch."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    def image_of(self, address: int) -> Image | None:
        """Return the image that contains an address, or None."""
        return next((image for image in self.images if image.begin <= address < image.end), None)


def read(folder: Path) -> Iterator[Counted]:
    """Yield the kernels of all processes that left a file in a folder."""
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text(errors="replace"))
        images = tuple(Image(*values) for values in document["images"])
        for kernel in document["kernels"]:
            yield _kernel(kernel, images)


def _kernel(document: dict[str, Any], images: tuple[Image, ...]) -> Counted:
    counts = tuple(map(_count, document.pop("places")))
    requests = tuple(map(_request, document.pop("touches")))
    arrays = tuple(Array(**array) for array in document.pop("arrays"))
    grid, block = tuple(document.pop("grid")), tuple(document.pop("block"))
    return Counted(**document, grid=grid, block=block, arrays=arrays, counts=counts, requests=requests, images=images)


def _request(row: list[Any]) -> Request:
    address, kind, array, warp, size, lanes = row
    return Request(address, KINDS[kind], array, warp, size, tuple((lane, at) for lane, at in lanes))


def _count(row: list[int]) -> Count:
    kind, space, *others = row
    return Count(KINDS[kind], SPACES[space], *others)
