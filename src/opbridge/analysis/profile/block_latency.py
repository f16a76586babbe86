"""Estimate the time of a block by itself: its warps wait for their loads, and no other warp interferes.

Loads of one stretch of code are in flight together. The next stretch begins when they have arrived.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from opbridge.analysis.profile.chips import Chip
from opbridge.analysis.profile.counter_files import Count, Counted
from opbridge.analysis.profile.operations import Stretch

_MEMORY = 404e-9
"""Seconds in which A100 memory answers: https://www.nvidia.com/en-us/on-demand/session/gtcspring21-s31151/."""
_FIRST_CACHE, _LAST_CACHE, _SHARED = 33, 200, 23
"""Cycles to answer: https://arxiv.org/abs/2208.11174."""
_INSTRUCTION = 2
"""Cycles from one instruction of a warp to the next: 4 if it uses the result, 1 if it does not."""
_MEETING = 30
"""Approximate cycles from the last warp's arrival at a barrier until all continue."""
_SPECIAL = 20
"""Approximate instructions of a function such as expf."""

Stretches = Callable[[Count], Stretch]


def cycles_alone(run: Counted, chip: Chip, from_memory: float, stretch: Stretches) -> float:
    """Return the cycles of a block, averaged over those that were counted.

    `from_memory` is the share of the first cache's misses that also miss the last cache.
    """
    if not run.profiled_blocks:
        return 0.0
    inside = _by_stretch(run.counts)
    far = _LAST_CACHE + from_memory * (_MEMORY * chip.hertz - _LAST_CACHE)
    found = 0.0
    for count in run.counts:
        if count.kind == "block":
            code = stretch(count)
            found += _waited(inside[count.address], code.rounds, far)
            found += count.longest * _INSTRUCTION * _instructions(code)
        elif count.kind in ("barrier", "meeting"):
            found += count.longest * _MEETING
    return found / run.profiled_blocks


def _by_stretch(counts: Iterable[Count]) -> Mapping[int, list[Count]]:
    """Return the memory requests by the address at which their stretch of code begins."""
    counts = list(counts)
    stretches = sorted((count for count in counts if count.kind == "block"), key=_address)
    found: dict[int, list[Count]] = defaultdict(list)
    for count in counts:
        at = bisect_right(stretches, count.address, key=_address) - 1
        if not count.space or at < 0:
            continue
        # A loop that is entered in its middle reports itself after that point.
        if count.longest > stretches[at].longest and at + 1 < len(stretches):
            at += 1
        found[stretches[at].address].append(count)
    return found


def _address(count: Count) -> int:
    return count.address


def _waited(asked: list[Count], rounds: int, far: float) -> float:
    """Return the cycles of waiting for `rounds` of a loop together; a store may change what the next round loads."""
    if any(count.kind != "load" and count.space == "global" for count in asked):
        rounds = 1
    return max((_latency(count, rounds, far) for count in asked if count.kind == "load"), default=0.0)


def _latency(load: Count, rounds: int, far: float) -> float:
    """Return the cycles of waiting for one load; rounds that run together all wait if one of them misses."""
    near = _FIRST_CACHE if load.space == "global" else _SHARED
    missing = min(1.0, rounds * load.missed / load.requests)
    return load.longest * (near + missing * (far - near)) / rounds


def _instructions(code: Stretch) -> float:
    special = code.operations.get("special", 0)
    return code.integers + sum(code.operations.values()) + (_SPECIAL - 1) * special
