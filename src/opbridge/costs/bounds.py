"""What a launch takes at least on a chip: its counts over the chip's published rates."""

from __future__ import annotations

from opbridge.costs.chips import WARP, Chip
from opbridge.costs.model import LAUNCH, SECTOR, Bound, KernelCost, LineCost

REACHED = 0.92
"""Of the published rate of memory, by what streams through it: PyTorch's operators do on an A100."""
_DOUBLES = 2
"""A double takes as long as so many floats on the chips for data centres."""
_CACHE_RATE = 32
"""Bytes that each multiprocessor gets from the last cache in a cycle, about."""
_SPECIAL = 8
"""Floats that could be computed in the time of a function such as expf."""
_FUSED = 2
"""Operations of an instruction: a product and a sum."""


def bounds_of(kernel: KernelCost, chip: Chip) -> tuple[Bound, ...]:
    core = chip.multiprocessor
    if core is None:
        return ()
    # Blocks that come after a full round of all multiprocessors have them to themselves.
    held = chip.cores * (kernel.occupancy.blocks if kernel.occupancy else 1)
    busy = _busy(kernel.blocks, chip.cores, max(held, 1))
    cycles = chip.cores * chip.hertz * busy
    lines = kernel.lines
    moved = kernel.bytes_read + kernel.bytes_written
    missed = kernel.scale * SECTOR * sum(_sectors(line) for line in lines if line.space == "global")
    unit = kernel.scale * sum(line.cycles for line in lines if line.space == "global")
    banks, constants = (
        kernel.scale * sum(line.cycles for line in lines if line.space == space) for space in ("shared", "constant")
    )
    floats = kernel.operations.get("float", 0) + kernel.operations.get("half", 0)
    weighed = floats + _DOUBLES * kernel.operations.get("double", 0) + _SPECIAL * kernel.operations.get("special", 0)
    issued = (
        kernel.integers
        + kernel.scale * sum(line.requests for line in lines if line.kind != "branch")
        + weighed / _FUSED / WARP
    )
    found = (
        LAUNCH,
        Bound("memory", moved / (REACHED * chip.memory_rate)),
        Bound("cache", missed / (_CACHE_RATE * cycles)),
        # One unit has both to do.
        Bound("loads and stores", (unit + banks if unit > banks else unit) / cycles),
        Bound("shared memory", (unit + banks if banks >= unit else banks) / cycles),
        Bound("constant memory", constants / cycles),
        Bound("arithmetic", weighed / (chip.float_rate * busy)),
        Bound("whole numbers", kernel.integers * WARP / (core.integers_a_cycle * cycles)),
        Bound("instructions", issued / (core.schedulers * cycles)),
        Bound("waiting", kernel.alone * max(1.0, kernel.blocks / max(held, 1)) / chip.hertz),
    )
    return tuple(sorted(found, key=lambda bound: -bound.seconds))


def _sectors(line: LineCost) -> int:
    """That the last cache moves: of what the first one holds none, and of what it updates both ways."""
    return {"load": line.missed, "atomic": 2 * line.parts}.get(line.kind, line.parts)


def _busy(blocks: int, cores: int, held: int) -> float:
    """The share of multiprocessors that have something to do, over the time of all rounds."""
    rounds = -(-blocks // held)
    if rounds > 1:
        return blocks / (rounds * held)
    # One round: the multiprocessor with the most blocks is the last to be done.
    most = -(-blocks // cores)
    return blocks / (most * cores)
