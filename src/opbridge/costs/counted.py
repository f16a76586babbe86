"""What the twin's library leaves of a process, read as it stands: counts by address in the code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.costs.tally import KINDS, SPACES, Kind, Tally


@dataclass(frozen=True)
class Count(Tally):
    address: int
    array: int
    """In the list of them, from 1 on."""


@dataclass(frozen=True)
class Array:
    name: str
    made_at: int
    bytes: int
    is_read: bool
    is_written: bool


@dataclass(frozen=True)
class Request:
    """One of a warp, as it was made: the first at its place in the code."""

    address: int
    kind: Kind
    array: int
    """In the list of them, from 1 on; 0 is shared memory."""
    warp: int
    bytes: int
    """Of each lane."""
    lanes: tuple[tuple[int, int], ...]
    """The number of each, and where in the array its bytes begin."""


@dataclass(frozen=True)
class Image:
    """A file of code, and where it lay."""

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
    """Of the first launch's first block."""
    images: tuple[Image, ...]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    def image_of(self, address: int) -> Image | None:
        return next((image for image in self.images if image.begin <= address < image.end), None)


def read(folder: Path) -> Iterator[Counted]:
    """Of all processes that have left a file there."""
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
