"""Runs as they might have been measured."""

from __future__ import annotations

from opbridge.analysis.bench import LARGE, SMALL, Measurement, Run
from opbridge.analysis.bench.paired_timing import Spread

MACHINE = {"processor": "a processor", "cores": "2"}


def spread(median: float, part: float = 0.01) -> Spread:
    return Spread(median, median * (1 - part), median * (1 + part))


def measured(
    seconds: float,
    *,
    ratio: float | None = None,
    reference: str = "aten::add",
    input: str = "x=float32[4]",
    extent: str = SMALL,
    operator: str = "mine::op",
    framework: str = "numpy",
    noise: float = 0.01,
) -> Measurement:
    limits = {"bandwidth": spread(1e10), "rate": spread(1e11), "reached": spread(0.5), "bound": "memory"}
    return Measurement(
        operator,
        framework,
        "cpu",
        extent,
        input,
        spread(seconds, noise),
        32_000_000,
        64_000_000,
        reference=reference if ratio else "",
        reference_time=spread(seconds / ratio) if ratio else None,
        ratio=spread(ratio, noise) if ratio else None,
        **(limits if extent == LARGE else {}),
    )


def run_of(*measurements: Measurement, date: str = "2026-11-22T00:00:00+00:00", **machine: str) -> Run:
    return Run("0.1.0", date, {**MACHINE, **machine}, measurements)
