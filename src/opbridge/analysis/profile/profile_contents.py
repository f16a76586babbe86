"""The contents of a profile: kernels, and lines of their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opbridge.analysis.profile.ascend.timeline import KernelTimeline
from opbridge.analysis.profile.chips import Chip
from opbridge.analysis.profile.counts import Kind, Tally
from opbridge.analysis.profile.occupancy import Occupancy
from opbridge.analysis.profile.registers import Registers

SECTOR = 32
"""Bytes of global memory that are moved together."""
_OF_REQUEST = 2
"""The minimum cycles of a request to global memory, for any size.  In products without tiles, which load two
values for each that they add, an A100 does one in four cycles."""


@dataclass(frozen=True)
class LineCost(Tally):
    """The effect of one line on one memory, or on the order of threads: sums over the profiled blocks."""

    place: str
    """The line, such as "sum.cu:12"."""
    array: str
    """The array that its worst place accessed first, if it is known."""
    advice: str = ""

    @property
    def conflicts(self) -> int:
        """Passes of shared memory beyond the first."""
        return self.parts - self.least if self.space == "shared" else 0

    @property
    def sectors(self) -> int:
        """Sectors of global memory."""
        return self.parts if self.space == "global" else 0

    @property
    def cycles(self) -> int:
        """Cycles of the load and store unit: four sectors, a pass or a turn in each. Lines are sorted by it."""
        if self.space == "global":
            return max(_OF_REQUEST * self.requests, -(-self.parts // 4)) + (self.queued if self.kind == "atomic" else 0)
        turns = self.joined if self.space == "shared" else self.parts
        return turns + (self.queued if self.kind == "atomic" else 0) if self.space else 0

    def _passes(self) -> dict[str, object]:
        return {"passes": self.parts, "joined_passes": self.joined, "bank_conflicts": self.conflicts}

    def fields(self) -> dict[str, Any]:
        """Return the line as fields for JSON."""
        return {
            "place": self.place,
            "kind": self.kind,
            **({"space": self.space} if self.space else {}),
            "requests": self.requests,
            "lanes": self.lanes,
            **({"bytes": self.bytes} if self.space else {}),
            **({"sectors": self.parts, "least_sectors": self.least} if self.space == "global" else {}),
            **({"fetched_sectors": self.missed} if self.space == "global" else {}),
            **(self._passes() if self.space == "shared" else {}),
            **({"turns": self.parts} if self.space == "constant" else {}),
            **({"queued_lanes": self.queued} if self.kind == "atomic" else {}),
            **({"array": self.array} if self.array else {}),
            **({"advice": self.advice} if self.advice else {}),
        }


@dataclass(frozen=True)
class Bound:
    """The least time of a launch by one of the chip's rates."""

    name: str
    """memory, cache, loads and stores, shared memory, constant memory, arithmetic, whole numbers, instructions,
    waiting, launch."""
    seconds: float


LAUNCH = Bound("launch", 2.5e-6)
"""The approximate time of an empty launch."""


@dataclass(frozen=True)
class Touch:
    """The addresses that a warp of the first block touched in its first access at one place."""

    place: str
    site: int
    """Identifies the access among those of the line."""
    kind: Kind
    array: str
    """Empty for shared memory."""
    warp: int
    bytes: int
    """Bytes of each lane."""
    lanes: tuple[tuple[int, int], ...]
    """The number of each lane, and the offset of its bytes in the array."""


@dataclass(frozen=True)
class KernelCost:
    """The launches of one kernel with equal sizes.

    Counts of lines are those of `profiled_blocks`. Counts of the kernel are those of one launch, and are estimates if
    not all of its blocks were profiled.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    blocks: int
    """The blocks of one launch."""
    profiled_blocks: int
    left_out: int
    """Blocks left out because they did more than is kept of one block."""
    scale: float
    """The ratio of the blocks of one launch to the profiled blocks."""
    shared_bytes: int
    bytes_read: int
    """The least bytes from off-chip global memory."""
    bytes_written: int
    operations: dict[str, float]
    """The operations of all threads of one launch, by kind."""
    lines: tuple[LineCost, ...]
    """The lines, the most expensive first."""
    bounds: tuple[Bound, ...] = ()
    """The bounds, the slowest first."""
    occupancy: Occupancy | None = None
    registers: Registers | None = None
    """None if the kernel was not compiled for the chip."""
    touches: tuple[Touch, ...] = ()
    integers: float = 0.0
    """Integer instructions of all warps of one launch."""
    alone: float = 0.0
    """Approximate cycles of a block by itself: its longest warps wait for their loads, and for each other."""

    def _sum(self, kind: str, space: str) -> int:
        return round(self.scale * sum(line.parts for line in self.lines if (line.kind, line.space) == (kind, space)))

    @property
    def global_load_sectors(self) -> int:
        """Sectors loaded from global memory in one launch."""
        return self._sum("load", "global")

    @property
    def global_store_sectors(self) -> int:
        """Sectors stored to global memory in one launch."""
        return self._sum("store", "global")

    @property
    def shared_bank_conflicts(self) -> int:
        """Passes of shared memory beyond the first in one launch."""
        return round(self.scale * sum(line.conflicts for line in self.lines))

    @property
    def divergent_branches(self) -> int:
        """Times that a warp diverges in one launch."""
        return round(self.scale * sum(line.requests for line in self.lines if line.kind == "branch"))

    @property
    def barriers(self) -> int:
        """Barriers in one launch, counted per warp."""
        return round(self.scale * sum(line.requests for line in self.lines if line.kind == "barrier"))

    @property
    def flops(self) -> float:
        """Floating-point operations of one launch, without special functions."""
        return sum(self.operations.get(kind, 0.0) for kind in ("half", "float", "double"))

    @property
    def intensity(self) -> float:
        """Operations per byte from and to memory."""
        moved = self.bytes_read + self.bytes_written
        return self.flops / moved if moved else 0.0

    @property
    def seconds(self) -> float:
        """The predicted time of one launch: the slowest bound, and the cost of a launch itself."""
        return LAUNCH.seconds + max((bound.seconds for bound in self.bounds if bound is not LAUNCH), default=0.0)

    def fields(self) -> dict[str, Any]:
        """Return the kernel as fields for JSON."""
        return {
            "name": self.name,
            "launches": self.launches,
            "grid": list(self.grid),
            "block": list(self.block),
            "blocks": self.blocks,
            "profiled_blocks": self.profiled_blocks,
            **({"blocks_left_out": self.left_out} if self.left_out else {}),
            "global_load_sectors": self.global_load_sectors,
            "global_store_sectors": self.global_store_sectors,
            "shared_bank_conflicts": self.shared_bank_conflicts,
            "divergent_branches": self.divergent_branches,
            "barriers": self.barriers,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "operations": {name: round(number) for name, number in self.operations.items()},
            "integer_instructions": round(self.integers),
            "block_cycles_alone": round(self.alone),
            "arithmetic_intensity": round(self.intensity, 4),
            "occupancy": round(self.occupancy.share, 4) if self.occupancy else None,
            "occupancy_limit": self.occupancy.limit if self.occupancy else None,
            **(self.registers.fields() if self.registers else {}),
            "bound": self.bounds[0].name if self.bounds else None,
            "bounds": {bound.name: bound.seconds for bound in self.bounds},
            "predicted_seconds": self.seconds,
            "lines": [line.fields() for line in self.lines],
        }


@dataclass(frozen=True)
class Profile:
    """The kernels that ran, the most expensive first."""

    chip: Chip
    kernels: tuple[KernelCost, ...] = ()
    """CUDA kernels."""
    timelines: tuple[KernelTimeline, ...] = ()
    """Ascend C kernels."""

    @property
    def all(self) -> tuple[KernelCost | KernelTimeline, ...]:
        """The kernels of both kinds."""
        return (*self.kernels, *self.timelines)

    @property
    def seconds(self) -> float:
        """The predicted time of all launches."""
        return sum(kernel.seconds * kernel.launches for kernel in self.all)

    def fields(self) -> dict[str, Any]:
        """Return the profile as fields for JSON."""
        return {
            "chip": self.chip.name,
            "predicted_seconds": self.seconds,
            "kernels": [kernel.fields() for kernel in self.all],
        }
