"""Compute the least time of a launch on a chip: its counts divided by the chip's published rates."""

from __future__ import annotations

from opbridge.analysis.profile.chips import WARP, Chip
from opbridge.analysis.profile.profile_contents import LAUNCH, SECTOR, Bound, KernelCost, LineCost

REACHED = 0.92
"""The share of the published memory rate that streaming reaches, as PyTorch operators do on an A100."""
_DOUBLES = 2
"""The number of floats that take as long as a double, on data center chips."""
_CACHE_RATE = 32
"""Approximate bytes that each multiprocessor gets from the last cache in a cycle."""
_SPECIAL = 8
"""The float operations that take as long as a function such as expf."""
_FUSED = 2
"""Operations per instruction: a product and a sum."""


def bounds_of(kernel: KernelCost, chip: Chip) -> tuple[Bound, ...]:
    """Return the bounds of one launch, the slowest first; none for a chip without multiprocessors."""
    core = chip.multiprocessor
    if core is None:
        return ()
    # Blocks after a full round of all multiprocessors do not share them.
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
        # One unit does both.
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
    """Return the sectors that the last cache moves: loads that miss the first one, and atomics in both directions."""
    return {"load": line.missed, "atomic": 2 * line.parts}.get(line.kind, line.parts)


def _busy(blocks: int, cores: int, held: int) -> float:
    """Return the share of multiprocessors that have work, over the time of all rounds."""
    rounds = -(-blocks // held)
    if rounds > 1:
        return blocks / (rounds * held)
    # One round: the multiprocessor with the most blocks ends last.
    most = -(-blocks // cores)
    return blocks / (most * cores)
