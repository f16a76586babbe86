"""Compute the bytes that a launch moves between the chip and its memory, from the sizes of its caches."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.analysis.profile.counter_files import Counted
from opbridge.analysis.profile.profile_contents import SECTOR


@dataclass(frozen=True)
class Moved:
    """The bytes of one launch."""

    read: int
    written: int
    fetched: int
    """Bytes that first caches fetch, from memory or the last cache."""

    @property
    def from_memory(self) -> float:
        """The share of the fetched bytes that the last cache misses."""
        return min(1.0, self.read / self.fetched) if self.fetched else 0.0


def moved(run: Counted, scale: float, at_once: int, cache_bytes: int) -> Moved:
    """Return the bytes that one launch moves.

    Sectors that blocks touch first are moved, but no array more than once, since caches hold what blocks share.
    Sectors that a block requests again are moved if the `at_once` blocks next to each other touch more than the last
    cache holds.
    """
    touched = SECTOR * sum(count.fresh for count in run.counts) / max(run.profiled_blocks, 1)
    beside = min(at_once * touched, sum(array.bytes for array in run.arrays))
    read = written = fetched = 0.0
    for number, array in enumerate(run.arrays, 1):
        own = [count for count in run.counts if count.array == number]
        loads = [count for count in own if count.kind != "store"]
        fresh = scale * SECTOR * sum(count.fresh for count in own)
        again = scale * SECTOR * sum(max(0, count.missed - count.fresh) for count in loads)
        fetched += scale * SECTOR * sum(count.missed for count in loads)
        if array.is_read:
            read += min(fresh, array.bytes) + (again if beside > cache_bytes else 0)
        if array.is_written:
            stored = scale * SECTOR * sum(count.parts for count in own if count.kind != "load")
            written += min(stored, array.bytes)
    return Moved(round(read), round(written), round(fetched))
