"""The rows of the comparison, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from timing import Spread, ratios

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Row:
    what: str
    ours: Spread
    unit: str
    """s or MB."""
    against: str
    """The peer; empty where the reach is a number of `unit`."""
    theirs: Spread | None
    ratio: Spread | None
    reach: Fraction | None
    """None where the row is there to be read and nothing was promised."""
    missing: str = ""
    """How to get a peer that is not here."""

    @classmethod
    def absolute(cls, what: str, ours: Spread, reach: str, unit: str = "s") -> Row:
        return cls(what, ours, unit, "", None, None, Fraction(reach))

    @classmethod
    def relative(
        cls, what: str, ours: Sequence[float], against: str, theirs: Sequence[float], reach: str | None
    ) -> Row:
        ratio = ratios(ours, theirs)
        return cls(what, Spread.of(ours), "s", against, Spread.of(theirs), ratio, _fraction(reach))

    @classmethod
    def without_peer(cls, what: str, ours: Sequence[float], against: str, reach: str | None, missing: str) -> Row:
        return cls(what, Spread.of(ours), "s", against, None, None, _fraction(reach), missing)

    @property
    def met(self) -> bool | None:
        if self.reach is None:
            return None
        if self.against:
            return self.ratio.median <= self.reach if self.ratio else None
        return self.ours.median <= self.reach


@dataclass(frozen=True)
class Floor:
    """What this machine allows at best, opbridge or not."""

    bounds: str
    """The rows that cannot be faster."""
    what: str
    seconds: Spread
    rate: str = ""


def results_table(rows: Iterable[Row], notes: dict[tuple[str, str], str]) -> str:
    lines = [
        (
            row.what,
            _amount(row.ours, row.unit),
            row.against or "absolute",
            f"not installed: `{row.missing}`" if row.missing else _amount(row.theirs, row.unit) if row.theirs else "",
            _ratio(row.ratio) if row.ratio else "",
            _reach(row),
            {True: "yes", False: "**no**", None: ""}[row.met],
            notes.get((row.what, row.against), ""),
        )
        for row in rows
    ]
    return _markdown(("what", "opbridge", "against", "theirs", "ratio (quartiles)", "reach", "met", "note"), lines)


def floors_table(floors: Iterable[Floor]) -> str:
    lines = [(floor.bounds, floor.what, _amount(floor.seconds, "s"), floor.rate) for floor in floors]
    return _markdown(("bounds", "what the machine needs", "time", "rate"), lines)


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in (head, rule, *lines)
    )


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _reach(row: Row) -> str:
    if row.reach is None:
        return ""
    return _multiple(float(row.reach)) if row.against else _quantity(float(row.reach), row.unit)


def _amount(spread: Spread, unit: str) -> str:
    return _quantity(spread.median, unit)


def _quantity(value: float, unit: str) -> str:
    if unit == "s":
        scale, unit = next(((scale, name) for scale, name in _TIMES if abs(value) >= scale), _TIMES[-1])
        value /= scale
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f} {unit}"


def _ratio(spread: Spread) -> str:
    return f"{_multiple(spread.median)} ({_multiple(spread.low)} to {_multiple(spread.high)})"


def _multiple(value: float) -> str:
    """1.23x, and small ones as fractions: 1/81."""
    return f"{value:.2f}x" if value > 0.5 else f"1/{1 / value:.3g}"
