"""Export a profile as a trace for Perfetto and chrome://tracing: one bar per kernel, of its predicted length.

For Ascend C, a block of each kernel is a process whose threads are the pipes, with a bar for each instruction and wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from opbridge.analysis.profile.ascend.instruction_records import PIPES
from opbridge.analysis.profile.ascend.timeline import Bar, KernelTimeline
from opbridge.analysis.profile.profile_contents import KernelCost, Profile

_MICRO = 1e6
_KERNELS, _BOUNDS = 1, 2


def trace(profile: Profile) -> dict[str, object]:
    """Return the trace in Chrome's event format: kernels one after another, and below each its bounds."""
    events: list[dict[str, object]] = [
        _named("process_name", 0, f"{profile.chip.title}, predicted"),
        _named("thread_name", _KERNELS, "kernels"),
    ]
    rows: dict[str, int] = {}
    now = 0.0
    for kernel in profile.kernels:
        events.append(_bar(kernel.name, _KERNELS, now, kernel.seconds, _facts(kernel)))
        for bound in kernel.bounds:
            row = rows.setdefault(bound.name, _BOUNDS + len(rows))
            events.append(_bar(bound.name, row, now, bound.seconds, {}))
        now += kernel.seconds
    events += [_named("thread_name", row, f"bound by {name}") for name, row in rows.items()]
    for process, timeline in enumerate(profile.timelines, 1):
        events += _of_block(timeline, process)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _of_block(kernel: KernelTimeline, process: int) -> Iterator[dict[str, object]]:
    rows = {pipe: row for row, pipe in enumerate(PIPES)}
    yield _named("process_name", 0, f"{kernel.name}, a block", process)
    for pipe in kernel.core.pipes:
        yield _named("thread_name", rows[pipe], pipe, process)
    for bar in kernel.core.bars:
        yield from _of_instruction(bar, rows[bar.site.pipe], kernel.hertz, process)


def _of_instruction(bar: Bar, row: int, hertz: float, process: int) -> Iterator[dict[str, object]]:
    """Yield the bar of an instruction, and before it that of its pipe's wait."""
    begin, cycles = bar.begin / hertz, bar.end - bar.begin
    if bar.awaited:
        waited = bar.waited / hertz
        yield _bar(f"wait for {bar.awaited}", row, begin - waited, waited, {"cycles": bar.waited}, process)
    facts = {"place": bar.site.place, "bytes": bar.bytes, "cycles": cycles}
    yield _bar(bar.site.name, row, begin, cycles / hertz, facts, process)


def _facts(kernel: KernelCost) -> dict[str, object]:
    found = kernel.fields()
    return {name: found[name] for name in found if name not in ("lines", "name")}


def _bar(
    name: str, row: int, begin: float, seconds: float, facts: dict[str, object], process: int = 0
) -> dict[str, object]:
    times = {"ts": begin * _MICRO, "dur": seconds * _MICRO}
    return {"name": name, "ph": "X", "pid": process, "tid": row, **times, "args": facts}


def _named(what: str, row: int, name: str, process: int = 0) -> dict[str, object]:
    return {"name": what, "ph": "M", "pid": process, "tid": row, "args": {"name": name}}
