"""The counts of one place: the same sums for an address in the code and for a line of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

Kind = Literal["block", "load", "store", "atomic", "barrier", "meeting", "branch"]
"""A block is a stretch of code without a branch, a meeting is one of lanes; at a branch lanes diverge."""
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds, in the order of the library's numbers for them."""

Space = Literal["", "global", "shared", "constant"]
SPACES: tuple[Space, ...] = get_args(Space)


@dataclass(frozen=True)
class Tally:
    """The counts of one kind and for one memory: sums over requests."""

    kind: Kind
    space: Space
    requests: int
    """Requests of warps, or the number of times that warps passed."""
    lanes: int
    bytes: int
    parts: int
    """Sectors of global memory, passes of shared memory, or turns of constant memory."""
    least: int
    """The fewest parts for the same bytes, in the best layout."""
    joined: int
    """Passes of shared memory if neighboring reads of a thread are joined, up to 16 bytes, as nvcc does."""
    fresh: int
    """Sectors that the block has not touched before."""
    missed: int
    """Sectors that miss the first cache, of which each warp has a share."""
    queued: int
    """Lanes after the first at the most common address: an atomic waits for them."""
    longest: int
    """Requests of the warp with the most of them in its block, summed over all blocks."""
    worst: int
    """Parts of the worst request; the next two are its lanes, and the bytes from each to the next (0: not constant)."""
    worst_lanes: int
    worst_stride: int


_KEYS = ("kind", "space")
_OF_THE_WORST = ("worst", "worst_lanes", "worst_stride")
_SUMMED = tuple(field.name for field in fields(Tally) if field.name not in (*_KEYS, *_OF_THE_WORST))


def total(tallies: Sequence[Tally]) -> Tally:
    """Return the sum of tallies of one kind and for one memory."""
    worst = max(tallies, key=lambda tally: tally.worst)
    kept = {name: getattr(worst, name) for name in (*_KEYS, *_OF_THE_WORST)}
    return Tally(**kept, **{name: sum(getattr(tally, name) for tally in tallies) for name in _SUMMED})
