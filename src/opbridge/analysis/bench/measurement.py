"""Define the settings and results of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from opbridge.analysis.bench.paired_timing import Spread
from opbridge.verify.check.results import Reference

SMALL, LARGE = "small", "large"
"""The two inputs of an operator: in a small one overhead dominates, in a large one work does."""

ROUNDS = 21


@dataclass(frozen=True)
class Settings:
    """The options of a benchmark."""

    references: Mapping[str, tuple[Reference, ...]] = field(default_factory=dict)
    """The references by operator; each framework uses the first that can be called there."""
    device: str = "cpu"
    rounds: int = ROUNDS
    seed: int = 0
    extents: tuple[str, ...] = (SMALL, LARGE)
    sizes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The size of the large input by operator and framework, if it must equal that of another run."""
    chip: str = ""
    """The chip to predict times for, in addition to measuring; empty for no prediction."""


@dataclass(frozen=True)
class OperatorTimings:
    """One operator in one framework for a worker to measure."""

    op: Any
    operator: str
    framework: str
    settings: Settings
    others: Mapping[str, Any] = field(default_factory=dict)
    """The operators that serve as references, by name."""
    predicted: Mapping[str, float] = field(default_factory=dict)
    """Seconds already predicted, by input: a prediction is the same for all frameworks."""


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
    """Seconds of one call."""
    bytes: int
    """The bytes that a call at least reads and writes: its tensors."""
    flops: int | None = None
    """The operations of a call by the rule `flops`; None if there is no rule."""
    size: int | None = None
    """The size of every dimension of a large input; None if a sample defines the input."""
    reference: str = ""
    reference_time: Spread | None = None
    ratio: Spread | None = None
    """The time of a call divided by the time of the reference, pair by pair."""
    bandwidth: Spread | None = None
    """Bytes a second of a copy of the same size, in the same rounds."""
    rate: Spread | None = None
    """Multiplications and additions a second of the machine, in the same rounds."""
    reached: Spread | None = None
    """The fraction of the machine limit that the call reached, pair by pair."""
    bound: str = ""
    """The kind of limit: "memory" or "arithmetic"."""
    chip: str = ""
    """The chip of the prediction, which need not be in this machine."""
    predicted: float | None = None
    """The predicted seconds of the kernels of a call on the chip; None if nothing was predicted."""
    note: str = ""
    """Why there is no reference, or no prediction."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The key that is unique in a run: operator, framework, device and extent."""
        return (self.operator, self.framework, self.device, self.extent)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Measurement:
        """Build a measurement from the fields of its JSON form."""
        spreads = ("time", "reference_time", "ratio", "bandwidth", "rate", "reached")
        made = {name: Spread(**fields[name]) for name in spreads if fields[name] is not None}
        return cls(**{**fields, **made})


@dataclass(frozen=True)
class Problem:
    """An operator that could not be measured in a framework, and why."""

    operator: str
    framework: str
    message: str


@dataclass(frozen=True)
class Run:
    """Everything that was measured at one time on one machine."""

    version: str
    date: str
    """The date and time in UTC, in ISO 8601 format."""
    machine: Mapping[str, str]
    measurements: tuple[Measurement, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second of the largest copies, which no cache speeds up; None if nothing was copied."""
        found = [(item.bytes, item.bandwidth.median) for item in self.measurements if item.bandwidth]
        return median(speed for size, speed in found if size == max(found)[0]) if found else None

    @property
    def rate(self) -> float | None:
        """Multiplications and additions a second of the machine; None if they were not measured."""
        found = [item.rate.median for item in self.measurements if item.rate]
        return median(found) if found else None

    def fields(self) -> dict[str, Any]:
        """Return the run as a dictionary for JSON; `of` is the inverse."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Run:
        """Build a run from the dictionary that `fields` returns."""
        measurements = tuple(map(Measurement.of, fields["measurements"]))
        problems = tuple(Problem(**problem) for problem in fields["problems"])
        return cls(**{**fields, "measurements": measurements, "problems": problems})
