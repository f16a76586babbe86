"""Compute the timelines of kernels from the instructions of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from opbridge.analysis.profile.ascend import advice
from opbridge.analysis.profile.ascend.durations import Rates
from opbridge.analysis.profile.ascend.instruction_records import Recorded, Site, Step
from opbridge.analysis.profile.ascend.instruction_times import replayed
from opbridge.analysis.profile.ascend.timeline import Bar, CoreTimeline, KernelTimeline, StepLine
from opbridge.analysis.profile.chips import Chip


def timelines(runs: Iterable[Recorded], chip: Chip) -> tuple[KernelTimeline, ...]:
    """Return the timelines, the longest first; kernels with no finished block are left out."""
    found = [_kernel(run, chip) for run in runs if run.cores]
    return tuple(sorted(found, key=lambda kernel: -kernel.seconds * kernel.launches))


def _kernel(run: Recorded, chip: Chip) -> KernelTimeline:
    cores = run.blocks * run.cores_per_block
    there = chip.cores if run.is_cube else chip.vector_cores
    rates = Rates.of(chip, min(cores, there))
    replays = [(replayed(core.steps, rates), core) for core in run.cores]
    timeline, core = max(replays, key=lambda pair: pair[0].cycles)
    kernel = KernelTimeline(
        run.name,
        run.launches,
        run.blocks,
        cores,
        -(-cores // there),
        chip.hertz,
        timeline,
        sum(step.from_global + step.to_global for step in core.steps) / rates.bytes_a_cycle,
        _lines(timeline, core.steps),
        {name: (most, run.memories[name]) for name, most in core.most.items() if most},
        core.is_cut,
    )
    return replace(kernel, advice=tuple(advice.of_kernel(kernel, core.buffers)))


def _lines(timeline: CoreTimeline, steps: tuple[Step, ...]) -> tuple[StepLine, ...]:
    same: dict[Site, list[tuple[Bar, Step]]] = defaultdict(list)
    for bar, step in zip(timeline.bars, steps, strict=True):
        same[bar.site].append((bar, step))
    lines = [_line(site, runs, timeline.cycles) for site, runs in same.items()]
    return tuple(sorted(lines, key=lambda line: -line.cycles))


def _line(site: Site, runs: list[tuple[Bar, Step]], cycles: float) -> StepLine:
    line = StepLine(
        site,
        len(runs),
        sum(bar.bytes for bar, _ in runs),
        sum(step.pieces for _, step in runs),
        sum(step.misaligned for _, step in runs),
        sum(bar.end - bar.begin for bar, _ in runs),
        sum(bar.waited for bar, _ in runs),
    )
    return replace(line, advice=advice.of_line(line, cycles))
