"""What the timeline of a kernel says: of its pipes, of its lines, and of its local memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opbridge.costs.ascend.recorded import Site


@dataclass(frozen=True)
class Bar:
    """One instruction on its pipe, in cycles from the block's begin."""

    site: Site
    begin: float
    end: float
    waited: float
    """How long the pipe stood still before it."""
    awaited: str
    """The pipe that it waited for; S where the instruction had not been handed out; empty where it did not wait."""
    bytes: int
    """From and to global memory, or of the widest operand."""


@dataclass(frozen=True)
class CoreTimeline:
    """One block."""

    bars: tuple[Bar, ...]

    @property
    def cycles(self) -> float:
        return max((bar.end for bar in self.bars), default=0.0)

    @property
    def pipes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(bar.site.pipe for bar in self.bars))

    def busy(self, *pipes: str) -> float:
        """Cycles in which one of the pipes works at least."""
        return _length(_union(self.bars, pipes))

    def waits(self, pipe: str) -> dict[str, float]:
        """Cycles between its instructions, by the pipe that it waited for."""
        found: dict[str, float] = {}
        for bar in self.bars:
            if bar.site.pipe == pipe and bar.awaited:
                found[bar.awaited] = found.get(bar.awaited, 0.0) + bar.waited
        return found

    @property
    def overlap(self) -> float:
        """The share of copies from and to global memory during which something is computed, or the other way round
        where computing takes less time."""
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
    """What one instruction of the text does in a block."""

    site: Site
    runs: int
    bytes: int
    pieces: int
    misaligned: int
    cycles: float
    waited: float
    advice: str = ""

    def fields(self) -> dict[str, Any]:
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
    """The launches of one kernel with so many blocks, by its slowest block of those that were recorded."""

    name: str
    launches: int
    blocks: int
    cores: int
    """That run it: a block may have several."""
    rounds: int
    """In which the chip's cores take them."""
    hertz: float
    core: CoreTimeline
    memory_cycles: float
    """What the block's bytes take at least, where all cores share the memory's rate."""
    lines: tuple[StepLine, ...]
    """The longest first."""
    local_bytes: dict[str, tuple[int, int]]
    """By memory: how much of it was taken at most, and how much there is."""
    is_cut: bool
    """The block did more than is kept: the end of it is not in here."""
    advice: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return self.rounds * max(self.core.cycles, self.memory_cycles) / self.hertz

    @property
    def bound(self) -> str:
        """The pipe that works longest; memory, where its rate allows less than the pipes would do."""
        if self.memory_cycles > self.core.cycles:
            return "memory"
        return max(self.core.pipes, key=self.core.busy, default="")

    def fields(self) -> dict[str, Any]:
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
