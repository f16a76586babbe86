"""Suggest changes to a kernel, from its timeline, and to its lines."""

from __future__ import annotations

from collections.abc import Iterator

from opbridge.analysis.profile.ascend.instruction_records import Buffers
from opbridge.analysis.profile.ascend.timeline import CoreTimeline, KernelTimeline, StepLine

_GOOD_COPY = 16 << 10
"""Bytes from which copies reach full speed, according to the best practices."""
_REPEAT = 256
_MANY = 16
"""Runs of a line in a block from which it counts as a loop."""
_WORTH = 0.1
"""The share of a block's time below which there is nothing to gain."""
_LITTLE_OVERLAP = 0.5
_ROOMY = 0.5


def of_kernel(kernel: KernelTimeline, buffers: tuple[Buffers, ...]) -> Iterator[str]:
    """Yield advice on the overlap of copies and computation, and on the size of tiles."""
    core = kernel.core
    if _wants_more_buffers(core):
        single = _single_queues(buffers)
        if single:
            places = ", ".join(single)
            yield (
                f"copies and computing overlap by {core.overlap:.0%}: give the queues two buffers, "
                f"as in InitBuffer(queue, 2, bytes): {places}"
            )
        else:
            overlap = f"copies and computing overlap by {core.overlap:.0%}"
            yield f"{overlap}: give the loop over tiles two iterations or more"
    used, there = kernel.local_bytes.get("unified buffer", (0, 0))
    copies = [bar.bytes for bar in core.bars if bar.site.pipe in ("MTE2", "MTE3") and bar.bytes]
    if len(copies) >= _MANY and there and used < _ROOMY * there:
        mean = sum(copies) / len(copies)
        if mean < _GOOD_COPY:
            yield (
                f"a copy moves {mean:.0f} bytes, and the unified buffer is {used / there:.0%} full: larger tiles, "
                "copies reach full speed at 16 kB"
            )


def _wants_more_buffers(core: CoreTimeline) -> bool:
    copies, work = core.busy("MTE2", "MTE3", "FIX"), core.busy("V", "M")
    return min(copies, work) > _WORTH * core.cycles and core.overlap < _LITTLE_OVERLAP


def _single_queues(buffers: tuple[Buffers, ...]) -> list[str]:
    """Return the places where queues from and to global memory have only one buffer."""
    queues = (taken for taken in buffers if taken.position in ("VECIN", "VECOUT"))
    return [taken.place for taken in queues if taken.count == 1]


def of_line(line: StepLine, cycles: float) -> str:
    """Return the advice for a line; empty if it takes too little of the block's `cycles`."""
    if line.cycles + line.waited < _WORTH * cycles:
        return ""
    each = line.bytes / line.runs
    if line.site.pipe == "S":
        return (
            f"{line.runs} times the scalar unit waits for a value and issues nothing meanwhile: "
            "compute it by vector instructions, or on the host in the tiling"
        )
    if line.site.pipe == "V" and line.runs >= _MANY and each <= _REPEAT:
        return f"{line.runs} instructions of {each:.0f} bytes: one with repeats, or with a longer count, takes them all"
    if line.misaligned * 2 > line.pieces:
        return "begins between multiples of 512 bytes of global memory: up to 30 % slower, pad rows to them"
    if line.pieces and line.runs >= _MANY and each < _GOOD_COPY / 8:
        return f"{line.runs} copies of {each:.0f} bytes: one with blockCount and strides, or larger tiles"
    return ""
