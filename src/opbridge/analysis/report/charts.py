"""Draw the charts of the report: gradient error against eps, the roofline, and times over saved runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from opbridge.analysis.bench.measurement import LARGE, Run
from opbridge.analysis.bench.tables import amount, seconds
from opbridge.analysis.report.axes import Axes, Names, Point, Powers
from opbridge.analysis.report.contents import place_of
from opbridge.analysis.report.markup import Markup, element
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify.check.results import RIGHT, Curve, Row

_FLOOR = 1e-17
"""The position of a zero error on a logarithmic scale."""
_SHAPES = ("circle", "square", "diamond", "triangle", "bow")
"""Each series has its own shape, because color alone does not tell series apart for every reader."""
_SQUARE = ((-4, -4), (4, -4), (4, 4), (-4, 4))
_DIAMOND = ((0, -6), (6, 0), (0, 6), (-6, 0))
_TRIANGLE = ((0, -6), (5, 4), (-5, 4))
_BOW = ((-5, -5), (5, 5), (5, -5), (-5, 5))


def gradient(name: str, row: Row) -> Markup | None:
    """Draw the error against eps: a valley for a right formula, a plain for a wrong one; None without measurements."""
    curves = [(curve, _finite(curve)) for curve in row.curves]
    drawn = [(curve, points) for curve, points in curves if points]
    if not drawn:
        return None
    eps = [x for _, points in drawn for x, _ in points]
    errors = [y for _, points in drawn for _, y in points]
    axes = Axes(Powers.around(eps), Powers.around(errors), "eps", "relative error", descending=True)
    parts, meanings = [], {}
    for place, (curve, points) in enumerate(drawn):
        style = f"series-{place}"
        eps_of_least, least = curve.eps[curve.best], curve.errors[curve.best]
        parts.append(axes.line(points, style))
        parts.append(_mark(axes, (eps_of_least, max(least, _FLOOR)), _SHAPES[place], style))
        wrong = curve.settled is not None and least > RIGHT[curve.dtype]
        said = f"stays at {curve.settled:.1g}" if wrong else f"{least:.1g} at eps {eps_of_least:.1g}"
        meanings[f"{curve.dtype}: {said}"] = place
    title = f"Error of the numeric derivative of {row.operator} in {row.framework} against eps: {row.message}"
    return element("div", axes.chart(name, title, parts), legend(meanings))


def _finite(curve: Curve) -> list[Point]:
    pairs = zip(curve.eps, curve.errors, strict=True)
    return [(eps, max(error, _FLOOR)) for eps, error in pairs if error < math.inf]


def roofline(name: str, run: Run) -> Markup | None:
    """Draw operations a second against operations a byte, below the limits of the machine; None without a point."""
    points = [item for item in run.measurements if item.extent == LARGE and item.flops and item.rate and item.bandwidth]
    if not points or run.bandwidth is None or run.rate is None:
        return None
    bandwidth, rate = run.bandwidth, run.rate
    intensities = [item.flops / item.bytes for item in points if item.flops]
    speeds = [item.flops / item.time.median for item in points if item.flops]
    ridge = rate / bandwidth
    across = Powers.around([*intensities, ridge / 4, ridge * 4])
    axes = Axes(
        across, Powers.around([*speeds, rate, across.low * bandwidth]), "operations a byte", "operations a second"
    )
    roof = [(across.low, across.low * bandwidth), (ridge, rate), (across.high, rate)]
    frameworks = {item.framework: _series(item.framework) for item in points}
    parts = [
        axes.line(roof, "roof"),
        axes.label(f"copies {amount(bandwidth, 'B/s')}", roof[0], "small", right=16, down=12),
        axes.label(f"multiplies and adds {amount(rate, 'FLOP/s')}", roof[2], "small", down=-7),
    ]
    for item, x, y in zip(points, intensities, speeds, strict=True):
        place = frameworks[item.framework]
        tip = f"{item.operator} in {item.framework}: {amount(y, 'FLOP/s')} at {x:.3g} operations a byte"
        mark = _mark(axes, (x, y), _SHAPES[place], f"series-{place}")
        parts.append(element("g", element("title", tip), mark))
    seen: dict[str, Point] = {}
    for item, x, y in zip(points, intensities, speeds, strict=True):
        highest = seen.get(item.operator, (x, y))
        seen[item.operator] = max(highest, (x, y), key=lambda point: point[1])
    parts += [axes.label(key.partition("::")[2], point, "small", right=8, down=-6) for key, point in seen.items()]
    title = f"Roofline of {len(seen)} operators in {', '.join(frameworks)}; the table below has the numbers"
    return element("div", axes.chart(name, title, parts), legend(frameworks))


def history(name: str, operator: str, runs: Mapping[str, Run], extent: str) -> Markup | None:
    """Draw a line for each framework over the runs; None if no framework has two."""
    lines: dict[str, list[Point]] = {}
    for place, run in enumerate(runs.values()):
        for item in run.measurements:
            if (item.operator, item.extent) == (operator, extent):
                lines.setdefault(place_of(item), []).append((place, item.time.median))
    drawn = {where: points for where, points in lines.items() if len(points) > 1}
    if not drawn:
        return None
    times = [seconds for points in drawn.values() for _, seconds in points]
    axes = Axes(Names(list(runs)), replace(Powers.around(times), name=_seconds), "runs, the oldest first", "")
    parts = []
    for where, points in drawn.items():
        place = _series(where)
        parts.append(axes.line(points, f"series-{place}"))
        parts += [_mark(axes, point, _SHAPES[place], f"series-{place}") for point in points]
    title = f"Seconds a call of {operator}, {extent} input, in {len(runs)} runs; the table below has the numbers"
    return element("div", axes.chart(name, title, parts), legend({where: _series(where) for where in drawn}))


def _series(where: str) -> int:
    """Return the index of the color and shape of a framework, which is the same in every chart."""
    return [*FRAMEWORKS].index(where.partition(" ")[0]) % len(_SHAPES)


def legend(series: Mapping[str, int]) -> Markup:
    """Draw the list of series with their colors and shapes."""
    items = []
    for name, place in series.items():
        shape = _shape(_SHAPES[place], 7, 7, f"series-{place}")
        key = element("svg", shape, viewBox="0 0 14 14", class_="key", aria_hidden="true")
        items.append(element("li", key, " ", name))
    return element("ul", items, class_="legend")


def _seconds(value: float) -> str:
    return seconds(value).replace(".00", "").replace(".0", "")


def _mark(axes: Axes, point: Point, shape: str, style: str) -> Markup:
    return _shape(shape, *axes.at(point), style)


def _shape(shape: str, x: float, y: float, style: str) -> Markup:
    style = f"mark {style}"
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=5, class_=style)
    corners = {"square": _SQUARE, "diamond": _DIAMOND, "triangle": _TRIANGLE, "bow": _BOW}[shape]
    return element("polygon", points=" ".join(f"{x + right:g},{y + down:g}" for right, down in corners), class_=style)
