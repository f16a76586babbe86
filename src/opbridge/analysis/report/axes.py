"""Draw the frame of a chart: axes with ticks and labels, as SVG that takes its colors from the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from opbridge.analysis.report.markup import Child, Markup, element

WIDTH, HEIGHT = 480, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 14, 46
_MOST_TICKS = 7
_MOST_NAMES, _LONGEST_NAME, _WIDEST_NAME = 5, 12, 90

Point = tuple[float, float]


class Scale(Protocol):
    """A mapping of values to positions along one axis."""

    def part(self, value: float) -> float:
        """Return the position of a value, from 0 to 1."""

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Return the values to mark on the axis, each with its label."""


@dataclass(frozen=True)
class Powers:
    """A logarithmic scale between two powers of ten."""

    low: float
    high: float
    name: Callable[[float], str] = lambda value: _power(value)

    @classmethod
    def around(cls, values: Sequence[float]) -> Powers:
        """Build the scale of whole powers of ten around positive numbers."""
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(10.0**low, 10.0 ** max(high, low + 1))

    def part(self, value: float) -> float:
        """Return the position of a value, from 0 to 1; values outside the scale are clipped."""
        held = min(max(value, self.low), self.high)
        return math.log(held / self.low) / math.log(self.high / self.low)

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Return powers of ten, evenly spaced."""
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        step = max(1, math.ceil((last - first) / _MOST_TICKS))
        return [(10.0**power, self.name(10.0**power)) for power in range(first, last + 1, step)]


@dataclass(frozen=True)
class Names:
    """A scale of named things at 0, 1, 2 and so on."""

    names: Sequence[str]

    def part(self, value: float) -> float:
        """Return the position of a place, from 0 to 1."""
        return value / max(len(self.names) - 1, 1)

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Return evenly spaced places with their names, shortened."""
        step = math.ceil(len(self.names) / _MOST_NAMES)
        return [(place, _shortened(self.names[place])) for place in range(0, len(self.names), step)]


@dataclass(frozen=True)
class Axes:
    """Two scales with labels, which convert values to SVG coordinates."""

    x: Scale
    y: Scale
    x_label: str
    y_label: str
    descending: bool = False
    """Whether x decreases to the right."""

    def at(self, point: Point) -> Point:
        """Return the SVG coordinates of a point."""
        return self._across(point[0]), self._up(point[1])

    def _across(self, value: float) -> float:
        part = self.x.part(value)
        return round(_LEFT + (1 - part if self.descending else part) * (WIDTH - _LEFT - _RIGHT), 1)

    def _up(self, value: float) -> float:
        return round(HEIGHT - _BOTTOM - self.y.part(value) * (HEIGHT - _TOP - _BOTTOM), 1)

    def line(self, points: Sequence[Point], style: str) -> Markup:
        """Draw a line through points."""
        places = " ".join(f"{x},{y}" for x, y in map(self.at, points))
        return element("polyline", points=places, class_=f"line {style}")

    def label(self, text: str, point: Point, style: str = "", *, right: float = 0, down: float = 0) -> Markup:
        """Draw a text next to a point, on the side with more room."""
        x, y = self.at(point)
        anchor = "end" if x > WIDTH * 0.7 else "start"
        return element(
            "text", text, x=x - right if anchor == "end" else x + right, y=y + down, text_anchor=anchor, class_=style
        )

    def chart(self, name: str, title: str, *content: Child) -> Markup:
        """Draw the chart with the frame and `content`.

        `name` must be unique on the page; a screen reader reads the title.
        """
        return element(
            "svg",
            element("title", title, id=name),
            self._frame(),
            content,
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_labelledby=name,
        )

    def _frame(self) -> list[Markup]:
        drawn = []
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        for value, name in self.x.ticks():
            x = self._across(value)
            drawn.append(element("line", x1=x, x2=x, y1=_TOP, y2=bottom, class_="grid"))
            anchor = "end" if x > WIDTH - _WIDEST_NAME / 2 else "middle"
            drawn.append(element("text", name, x=x, y=bottom + 16, text_anchor=anchor))
        for value, name in self.y.ticks():
            y = self._up(value)
            drawn.append(element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid"))
            drawn.append(element("text", name, x=_LEFT - 6, y=y + 4, text_anchor="end"))
        middle = (_TOP + bottom) / 2
        drawn.append(element("text", self.x_label, x=(_LEFT + right) / 2, y=HEIGHT - 8, text_anchor="middle"))
        turn = f"rotate(-90 14 {middle})"
        drawn.append(element("text", self.y_label, x=14, y=middle, text_anchor="middle", transform=turn))
        return drawn


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(value: float) -> str:
    power = round(math.log10(value))
    return {0: "1", 1: "10"}.get(power, f"10{str(power).translate(_RAISED)}")


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
