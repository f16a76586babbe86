"""Format a run for people: aligned columns, numbers with units."""

from __future__ import annotations

from collections.abc import Sequence

from opbridge.analysis.bench.measurement import Measurement, Run
from opbridge.analysis.bench.paired_timing import Spread


def seconds(value: float) -> str:
    """Format a duration, from nanoseconds to seconds."""
    return scaled(value, (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)))


def amount(value: float, unit: str) -> str:
    """Format an amount with a decimal prefix before its unit."""
    return scaled(value, ((unit, 1.0), (f"K{unit}", 1e3), (f"M{unit}", 1e6), (f"G{unit}", 1e9), (f"T{unit}", 1e12)))


def scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    """Format a number with three digits, in the largest unit that leaves a digit before the decimal point."""
    name, size = next(((name, size) for name, size in reversed(units) if value >= size), units[0])
    number = value / size
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return f"{number:.{digits}f} {name}"


def percent(part: float) -> str:
    """Format a fraction as whole percent, or with one decimal below one percent."""
    return f"{part:.0%}" if part >= 0.0095 else f"{part:.1%}"


def spread(value: Spread) -> str:
    """Format half the distance between the quartiles, relative to the median."""
    return f"± {(value.high - value.low) / 2 / value.median:.0%}"


def machine_line(run: Run) -> str:
    """Describe the machine and the limits that were measured in the races."""
    known = [f"{run.machine['processor']}, {run.machine['cores']} cores"]
    if run.bandwidth is not None:
        known.append(f"copies {amount(run.bandwidth, 'B/s')}")
    if run.rate is not None:
        known.append(f"multiplies and adds {amount(run.rate, 'FLOP/s')}")
    return ", ".join(known)


PREDICTED = (
    "Predicted is what the kernels of a call would take on the chip that is named, by counts in a twin and published "
    "rates: nothing ran there.  All other times were measured here."
)
_COLUMNS = ("operator", "framework", "input", "a call", "", "reference", "", "of the limit", "predicted")


def table(run: Run) -> str:
    """Format the measurements as a table, with the machine above and notes below."""
    rows = [_row(measurement) for measurement in run.measurements]
    used = [place for place in range(len(_COLUMNS)) if any(row[place] for row in rows)]
    widths = {place: max(len(row[place]) for row in (_COLUMNS, *rows)) for place in used}
    lines = ["  ".join(row[place].ljust(widths[place]) for place in used) for row in (_COLUMNS, *rows)]
    notes = dict.fromkeys(f"{_short(item)} in {item.framework}: {item.note}" for item in run.measurements if item.note)
    said = [PREDICTED] if any(item.predicted is not None for item in run.measurements) else []
    below = [*said, *notes]
    return "\n".join(["", machine_line(run), "", *(line.rstrip() for line in lines), *([""] if below else []), *below])


def _row(item: Measurement) -> tuple[str, ...]:
    where = item.framework if item.device == "cpu" else f"{item.framework} on {item.device}"
    race = ("", "")
    if item.ratio:
        race = (f"{item.ratio.median:.2f}x {item.reference}", f"({item.ratio.low:.2f} to {item.ratio.high:.2f})")
    limit = f"{percent(item.reached.median)} ({item.bound})" if item.reached else ""
    time = (seconds(item.time.median), spread(item.time))
    return (_short(item), where, item.input, *time, *race, limit, prediction(item))


def prediction(item: Measurement) -> str:
    """Format the prediction of a measurement; empty if there is none."""
    return "" if item.predicted is None else f"{seconds(item.predicted)} on {item.chip}"


def _short(item: Measurement) -> str:
    return item.operator.partition("::")[2]
