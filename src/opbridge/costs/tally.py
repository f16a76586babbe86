"""What is counted of one place: the same sums, whether the place is an address in the code or a line of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

Kind = Literal["block", "load", "store", "atomic", "barrier", "meeting", "branch"]
"""A block is a stretch of code without a branch, a meeting one of lanes; at a branch lanes part."""
KINDS: tuple[Kind, ...] = get_args(Kind)
"""By the numbers that the library has for them."""

Space = Literal["", "global", "shared", "constant"]
SPACES: tuple[Space, ...] = get_args(Space)


@dataclass(frozen=True)
class Tally:
    """Of one kind and for one memory: sums over requests."""

    kind: Kind
    space: Space
    requests: int
    """By warps, or how often warps came by."""
    lanes: int
    bytes: int
    parts: int
    """Sectors of global memory, passes of shared memory, or turns of constant memory."""
    least: int
    """As many as the same bytes need where they lie best."""
    joined: int
    """Passes of shared memory where a thread's neighbouring reads are joined, up to 16 bytes, as nvcc does."""
    fresh: int
    """Sectors that the block has not touched before."""
    missed: int
    """Sectors that the first cache, of which each warp has its share, does not hold when they are asked for."""
    queued: int
    """Lanes behind the first of those at the address that most have: what an atomic waits for."""
    longest: int
    """Requests of the warp that makes most of them in its block, of all blocks together."""
    worst: int
    """Parts of the worst request; it had so many lanes, and so many bytes from each to the next (0: not the same)."""
    worst_lanes: int
    worst_stride: int


_KEYS = ("kind", "space")
_OF_THE_WORST = ("worst", "worst_lanes", "worst_stride")
_SUMMED = tuple(field.name for field in fields(Tally) if field.name not in (*_KEYS, *_OF_THE_WORST))


def total(tallies: Sequence[Tally]) -> Tally:
    """Of one kind and for one memory, all of them."""
    worst = max(tallies, key=lambda tally: tally.worst)
    kept = {name: getattr(worst, name) for name in (*_KEYS, *_OF_THE_WORST)}
    return Tally(**kept, **{name: sum(getattr(tally, name) for tally in tallies) for name in _SUMMED})
