"""What a launch moves between the chip and its memory, by what its caches hold."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.costs.counted import Counted
from opbridge.costs.model import SECTOR


@dataclass(frozen=True)
class Moved:
    """Bytes of one launch."""

    read: int
    written: int
    fetched: int
    """By first caches, from memory or the last cache."""

    @property
    def from_memory(self) -> float:
        """The share of what is fetched that the last cache lacks."""
        return min(1.0, self.read / self.fetched) if self.fetched else 0.0


def moved(run: Counted, scale: float, at_once: int, cache_bytes: int) -> Moved:
    """Sectors that blocks touch first, but no array more often than once, as caches hold what blocks share; and those
    that a block asks for again, where the `at_once` blocks beside each other touch more than the last cache holds."""
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
