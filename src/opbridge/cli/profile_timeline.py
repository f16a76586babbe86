"""Print the timeline of an Ascend C kernel for `opbridge profile`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from opbridge.cli.terminal import bold

if TYPE_CHECKING:
    from opbridge.analysis.profile.ascend.timeline import CoreTimeline, KernelTimeline, StepLine

_LINES = 12


def of_timeline(kernel: KernelTimeline, time: str) -> Iterator[str]:
    """Yield the lines to print for a kernel; `time` is its formatted duration."""
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    cores = f"{kernel.cores} cores" + (f" in {kernel.rounds} rounds" if kernel.rounds > 1 else "")
    head = f"{bold(kernel.name)}  {launches} of {kernel.blocks} blocks on {cores}"
    yield f"{head}, {time} each, bound by {kernel.bound}"
    yield from _of_core(kernel.core)
    for name, (used, there) in kernel.local_bytes.items():
        yield f"  {name}: {used / 1024:.4g} of {there / 1024:.4g} kB taken"
    if kernel.is_cut:
        yield "  the block did more than is kept: its end is not in here"
    for sentence in kernel.advice:
        yield f"  hint: {sentence}"
    width = max((len(line.site.place) for line in kernel.lines), default=0)
    for line in kernel.lines[:_LINES]:
        yield f"  {line.site.place:<{width}}  {_of_line(line)}"
        if line.advice:
            yield f"  {'':<{width}}  hint: {line.advice}"
    if len(kernel.lines) > _LINES:
        yield f"  and {len(kernel.lines) - _LINES} shorter lines"


def _of_core(core: CoreTimeline) -> Iterator[str]:
    shares = ", ".join(f"{pipe} {core.busy(pipe) / core.cycles:.0%}" for pipe in core.pipes)
    yield f"  a block takes {core.cycles:.0f} cycles: {shares}; copies and computing overlap by {core.overlap:.0%}"
    for pipe in core.pipes:
        waits = {other: cycles for other, cycles in core.waits(pipe).items() if cycles >= core.cycles / 20}
        if waits and pipe != "S":
            said = ", ".join(f"{cycles:.0f} cycles for {other}" for other, cycles in waits.items())
            yield f"  {pipe} waits {said}"


def _of_line(line: StepLine) -> str:
    runs = "once" if line.runs == 1 else f"{line.runs} times"
    waited = f", after waiting {line.waited:.0f}" if line.waited >= 1 else ""
    return f"{line.site.name} on {line.site.pipe} {runs}, {line.bytes} bytes: {line.cycles:.0f} cycles{waited}"
