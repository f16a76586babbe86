"""Compare a run with an earlier one on the same machine, and tell real slowdowns from noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.analysis.bench.measurement import Measurement, Run
from opbridge.analysis.bench.paired_timing import Spread
from opbridge.base.errors import InputError


@dataclass(frozen=True)
class Change:
    """How one measurement differs from an earlier one."""

    now: Measurement
    before: Measurement
    by: str
    """"time", or "reference" for times relative to the reference, which a busy machine distorts less."""
    part: float
    """The relative change: 0.1 means a tenth slower than before."""
    apart: bool
    """Whether the quartile ranges of the two runs are disjoint."""

    def is_slower(self, threshold: float) -> bool:
        """Return whether the operator is slower by more than `threshold`, a part of its time, and not only by noise."""
        return self.apart and self.part > threshold


def require_comparable(now: Mapping[str, str], before: Run, name: str) -> None:
    """Raise InputError if the earlier run is from another machine; callers check this before they measure."""
    if dict(before.machine) != dict(now):
        there, here = (", ".join(f"{key} {value}" for key, value in one.items()) for one in (before.machine, now))
        raise InputError(
            f"the run '{name}' was measured on another machine ({there}) than this one ({here})",
            hint="save one of this machine: opbridge bench ops.yaml --save NAME",
        )


def changes(now: Run, before: Run, name: str) -> list[Change]:
    """Return the change of every measurement that is in both runs.

    Raises:
        InputError: The inputs of an operator differ, or the runs have nothing in common.
    """
    earlier = {measurement.place: measurement for measurement in before.measurements}
    found = []
    for measurement in now.measurements:
        old = earlier.get(measurement.place)
        if old is None:
            continue
        if old.input != measurement.input:
            raise InputError(
                f"{measurement.operator} in {measurement.framework} had other inputs in the run '{name}': "
                f"{old.input}, and now {measurement.input}",
                hint="its rules or samples have changed since; save a new run: opbridge bench ops.yaml --save NAME",
            )
        found.append(_change(measurement, old))
    if not found:
        raise InputError(f"the run '{name}' has none of these operators, frameworks and devices")
    return found


def _change(now: Measurement, before: Measurement) -> Change:
    same_race = now.ratio is not None and before.ratio is not None and now.reference == before.reference
    new, old = (now.ratio, before.ratio) if same_race else (now.time, before.time)
    assert isinstance(new, Spread)
    assert isinstance(old, Spread)
    apart = new.low > old.high or old.low > new.high
    return Change(now, before, "reference" if same_race else "time", new.median / old.median - 1, apart)
