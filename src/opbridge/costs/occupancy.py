"""How many blocks a multiprocessor holds at a time, by NVIDIA's published rules."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.costs.chips import WARP, Multiprocessor


@dataclass(frozen=True)
class Occupancy:
    blocks: int
    """At a time, on one multiprocessor."""
    warps: int
    share: float
    """Of the warps that it could hold."""
    limit: str
    """What allows no more."""


def occupancy(chip: Multiprocessor, threads: int, shared_bytes: int, registers: int | None = None) -> Occupancy:
    """`registers` are those of a thread, None where nobody has compiled it for a GPU."""
    warps = -(-threads // WARP)
    limits = {"threads": chip.warps // warps, "blocks": chip.blocks}
    shared = _rounded(shared_bytes, chip.shared_unit) + chip.reserved_shared_bytes
    limits["shared memory"] = chip.shared_bytes // shared
    if registers:
        of_warp = _rounded(registers * WARP, chip.register_unit)
        # Each scheduler has its part of the registers, and whole warps only.
        warps_held = chip.registers // chip.schedulers // of_warp * chip.schedulers
        limits["registers"] = warps_held // warps
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    # Nothing is in the way where all warps are there.
    named = "nothing" if blocks * warps == chip.warps else limit
    return Occupancy(blocks, blocks * warps, blocks * warps / chip.warps, named)


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
