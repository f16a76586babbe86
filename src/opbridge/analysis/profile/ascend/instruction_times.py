"""Compute when each instruction of a block begins and ends."""

from __future__ import annotations

from collections.abc import Iterable

from opbridge.analysis.profile.ascend.durations import ISSUE, Rates
from opbridge.analysis.profile.ascend.instruction_records import PIPES, Step
from opbridge.analysis.profile.ascend.timeline import Bar, CoreTimeline


def replayed(steps: Iterable[Step], rates: Rates) -> CoreTimeline:
    """Return the timeline of a block.

    A pipe runs its instructions in order, once they are issued and the instructions that they wait for have ended.
    """
    ends: dict[str, list[float]] = {pipe: [0.0] for pipe in PIPES}
    bars: list[Bar] = []
    issued = 0.0
    for step in steps:
        pipe = step.site.pipe
        free = ends[pipe][-1]
        begin, awaited = max((free, ""), (issued, "S" if issued > free else ""))
        for other, count in zip(PIPES, step.known, strict=True):
            if other != pipe and ends[other][count] > begin:
                begin, awaited = ends[other][count], other
        end = begin + rates.cycles(step)
        ends[pipe].append(end)
        # The scalar unit issues nothing while it reads or writes.
        issued = end if pipe == "S" else issued + ISSUE
        moved = step.from_global + step.to_global
        bars.append(Bar(step.site, begin, end, begin - free, awaited, moved or step.widest))
    return CoreTimeline(tuple(bars))
