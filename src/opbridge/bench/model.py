"""What a benchmark is asked for and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from opbridge.bench.timing import Spread
from opbridge.check.model import Reference

SMALL, LARGE = "small", "large"
"""The two inputs of an operator: one whose call is all overhead, one that is all work."""

ROUNDS = 21


@dataclass(frozen=True)
class Settings:
    references: Mapping[str, tuple[Reference, ...]] = field(default_factory=dict)
    """By operator; of those that can be called in a framework, the first is what it races there."""
    device: str = "cpu"
    rounds: int = ROUNDS
    seed: int = 0
    extents: tuple[str, ...] = (SMALL, LARGE)
    sizes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The size of the large input by operator and framework, where it is to be that of another run."""
    chip: str = ""
    """What calls are predicted for, beside being measured; empty for nothing."""


@dataclass(frozen=True)
class OperatorTimings:
    """One operator in one framework that a worker is to measure."""

    op: Any
    operator: str
    framework: str
    settings: Settings
    others: Mapping[str, Any] = field(default_factory=dict)
    """The operators that are references, by name."""
    predicted: Mapping[str, float] = field(default_factory=dict)
    """What is known of its inputs already: a prediction is the same for all frameworks."""


@dataclass(frozen=True)
class Measurement:
    """One operator in one framework with one input."""

    operator: str
    framework: str
    device: str
    extent: str
    """SMALL or LARGE."""
    input: str
    time: Spread
    """Of one call, in seconds."""
    bytes: int
    """What a call reads and writes at least: its tensors."""
    flops: int | None = None
    """By the rule `flops`; None: there is none."""
    size: int | None = None
    """What every dimension of a large input is; None: a sample says how it is."""
    reference: str = ""
    reference_time: Spread | None = None
    ratio: Spread | None = None
    """How long a call takes in units of the reference's, pair by pair."""
    bandwidth: Spread | None = None
    """The bytes a second of a copy that moves as many, in the same rounds."""
    rate: Spread | None = None
    """The multiplications and additions a second, in the same rounds."""
    reached: Spread | None = None
    """The part of the machine's limit for this work, pair by pair."""
    bound: str = ""
    """What the limit is: "memory" or "arithmetic"."""
    chip: str = ""
    """What the prediction is for, which need not be here."""
    predicted: float | None = None
    """The seconds that the kernels of a call are predicted to take on the chip; None: nothing was predicted."""
    note: str = ""
    """Why there is no reference, or no prediction."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What tells it from the others of a run."""
        return (self.operator, self.framework, self.device, self.extent)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Measurement:
        spreads = ("time", "reference_time", "ratio", "bandwidth", "rate", "reached")
        made = {name: Spread(**fields[name]) for name in spreads if fields[name] is not None}
        return cls(**{**fields, **made})


@dataclass(frozen=True)
class Problem:
    """Why an operator was not measured in a framework."""

    operator: str
    framework: str
    message: str


@dataclass(frozen=True)
class Run:
    """Everything that was measured at one time on one machine."""

    version: str
    date: str
    """In UTC, as ISO 8601 has it."""
    machine: Mapping[str, str]
    measurements: tuple[Measurement, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def bandwidth(self) -> float | None:
        """The bytes a second of the largest copies, which no cache helps; None: there were none."""
        found = [(item.bytes, item.bandwidth.median) for item in self.measurements if item.bandwidth]
        return median(speed for size, speed in found if size == max(found)[0]) if found else None

    @property
    def rate(self) -> float | None:
        """The multiplications and additions a second that the machine did."""
        found = [item.rate.median for item in self.measurements if item.rate]
        return median(found) if found else None

    def fields(self) -> dict[str, Any]:
        """For JSON; `of` is its inverse."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Run:
        measurements = tuple(map(Measurement.of, fields["measurements"]))
        problems = tuple(Problem(**problem) for problem in fields["problems"])
        return cls(**{**fields, "measurements": measurements, "problems": problems})
