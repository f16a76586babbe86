"""Compute the number of blocks that a multiprocessor holds at a time, by NVIDIA's published rules."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.analysis.profile.chips import WARP, Multiprocessor


@dataclass(frozen=True)
class Occupancy:
    """The blocks and warps that a multiprocessor holds, and the resource that limits them."""

    blocks: int
    """The blocks on one multiprocessor at a time."""
    warps: int
    share: float
    """The share of the warps that it could hold."""
    limit: str
    """The resource that allows no more."""


def occupancy(chip: Multiprocessor, threads: int, shared_bytes: int, registers: int | None = None) -> Occupancy:
    """Return the occupancy; `registers` are those of a thread, None if the kernel was not compiled for a GPU."""
    warps = -(-threads // WARP)
    limits = {"threads": chip.warps // warps, "blocks": chip.blocks}
    shared = _rounded(shared_bytes, chip.shared_unit) + chip.reserved_shared_bytes
    limits["shared memory"] = chip.shared_bytes // shared
    if registers:
        of_warp = _rounded(registers * WARP, chip.register_unit)
        # Each scheduler has a part of the registers, and holds whole warps only.
        warps_held = chip.registers // chip.schedulers // of_warp * chip.schedulers
        limits["registers"] = warps_held // warps
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    # If the multiprocessor is full, nothing limits the occupancy.
    named = "nothing" if blocks * warps == chip.warps else limit
    return Occupancy(blocks, blocks * warps, blocks * warps / chip.warps, named)


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
