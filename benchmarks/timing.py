"""How `opbridge bench` measures, for the peers too."""

from __future__ import annotations

from collections.abc import Sequence

from opbridge.analysis.bench.paired_timing import Contestant, Spread, burst, race, ratios, rested

__all__ = ["Contestant", "Spread", "burst", "differences", "race", "ratios", "rested"]


def differences(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    return Spread.of([a - b for a, b in zip(ours, theirs, strict=True)])
