"""The timeline of a kernel: its pipes, its lines, and its local memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opbridge.analysis.profile.ascend.instruction_records import Site


@dataclass(frozen=True)
class Bar:
    """One instruction on its pipe, in cycles from the start of the block."""

    site: Site
    begin: float
    end: float
    waited: float
    """The cycles for which the pipe was idle before it."""
    awaited: str
    """The pipe that it waited for; S if the instruction had not been issued; empty if it did not wait."""
    bytes: int
    """Bytes from and to global memory, or of the widest operand."""


@dataclass(frozen=True)
class CoreTimeline:
    """The timeline of one block."""

    bars: tuple[Bar, ...]

    @property
    def cycles(self) -> float:
        """The cycles until the last instruction ends."""
        return max((bar.end for bar in self.bars), default=0.0)

    @property
    def pipes(self) -> tuple[str, ...]:
        """The pipes that have instructions, in the order of their first."""
        return tuple(dict.fromkeys(bar.site.pipe for bar in self.bars))

    def busy(self, *pipes: str) -> float:
        """Return the cycles in which at least one of the pipes works."""
        return _length(_union(self.bars, pipes))

    def waits(self, pipe: str) -> dict[str, float]:
        """Return the idle cycles between a pipe's instructions, by the pipe that it waited for."""
        found: dict[str, float] = {}
        for bar in self.bars:
            if bar.site.pipe == pipe and bar.awaited:
                found[bar.awaited] = found.get(bar.awaited, 0.0) + bar.waited
        return found

    @property
    def overlap(self) -> float:
        """The share of global copies that overlap with computation.

        If computation takes less time than the copies, it is the share of computation that overlaps with copies.
        """
        copies, work = _union(self.bars, ("MTE2", "MTE3", "FIX")), _union(self.bars, ("V", "M"))
        least = min(_length(copies), _length(work))
        both = _length(copies) + _length(work) - _length(_joined([*copies, *work]))
        return both / least if least else 0.0


def _union(bars: tuple[Bar, ...], pipes: tuple[str, ...]) -> list[tuple[float, float]]:
    return _joined([(bar.begin, bar.end) for bar in bars if bar.site.pipe in pipes])


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _length(spans: list[tuple[float, float]]) -> float:
    return sum(end - begin for begin, end in spans)


@dataclass(frozen=True)
class StepLine:
    """The work of one instruction of the source in a block."""

    site: Site
    runs: int
    bytes: int
    pieces: int
    misaligned: int
    cycles: float
    waited: float
    advice: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the line as fields for JSON."""
        return {
            "place": self.site.place,
            "instruction": self.site.name,
            "pipe": self.site.pipe,
            "runs": self.runs,
            "bytes": self.bytes,
            "cycles": round(self.cycles),
            "waited_cycles": round(self.waited),
            **({"advice": self.advice} if self.advice else {}),
        }


@dataclass(frozen=True)
class KernelTimeline:
    """The launches of one kernel with a number of blocks, by the slowest of the recorded blocks."""

    name: str
    launches: int
    blocks: int
    cores: int
    """The cores that run it; a block may have several."""
    rounds: int
    """The rounds in which the chip's cores run them."""
    hertz: float
    core: CoreTimeline
    memory_cycles: float
    """The least cycles for the block's bytes, if all cores share the memory rate."""
    lines: tuple[StepLine, ...]
    """The lines, the longest first."""
    local_bytes: dict[str, tuple[int, int]]
    """The most bytes in use and the bytes available, by memory."""
    is_cut: bool
    """Whether the block has more instructions than are kept: its end is missing here."""
    advice: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The predicted time of one launch."""
        return self.rounds * max(self.core.cycles, self.memory_cycles) / self.hertz

    @property
    def bound(self) -> str:
        """The pipe that works longest; memory, if its rate allows less than the pipes could do."""
        if self.memory_cycles > self.core.cycles:
            return "memory"
        return max(self.core.pipes, key=self.core.busy, default="")

    def fields(self) -> dict[str, Any]:
        """Return the timeline as fields for JSON."""
        core = self.core
        return {
            "name": self.name,
            "launches": self.launches,
            "blocks": self.blocks,
            "cores": self.cores,
            "cycles": round(core.cycles),
            "memory_cycles": round(self.memory_cycles),
            "predicted_seconds": self.seconds,
            "bound": self.bound,
            "pipes": {
                pipe: {
                    "busy_cycles": round(core.busy(pipe)),
                    "waited_cycles": {other: round(cycles) for other, cycles in core.waits(pipe).items()},
                }
                for pipe in core.pipes
            },
            "overlap": round(core.overlap, 4),
            "local_memory": {name: {"bytes": used, "of": of} for name, (used, of) in self.local_bytes.items()},
            **({"cut": True} if self.is_cut else {}),
            "advice": list(self.advice),
            "lines": [line.fields() for line in self.lines],
        }
