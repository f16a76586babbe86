"""Plot the error of a gradient against eps, in float64 and in float32."""

from __future__ import annotations

import importlib.util
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError, ToolchainError
from opbridge.verify.check.results import RIGHT, Curve, Row

SUFFIXES = (".png", ".svg")

_COLOURS = {"float64": "tab:blue", "float32": "tab:orange"}
_ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24}
_FLOOR = 1e-17
"""The position of an error of zero on the logarithmic scale."""


def require(path: Path) -> None:
    """Raise an error before any check runs if the plot cannot be drawn.

    Raises:
        InputError: The file name has another suffix.
        ToolchainError: matplotlib is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"--plot {path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ToolchainError("--plot needs matplotlib, which is not installed\n  pip install matplotlib")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw one panel per operator, for the first framework that differentiates it.

    Raises:
        InputError: No operator was differentiated.
    """
    panels = list({row.operator: row for row in reversed(rows) if row.curves}.values())[::-1]
    if not panels:
        raise InputError(f"--plot {path}: no operator was differentiated, so there is nothing to draw")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.6 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False)
    for row, (axis,) in zip(panels, axes, strict=True):
        _draw_panel(axis, row)
    figure.savefig(path, dpi=144)


def _draw_panel(axis: Any, row: Row) -> None:
    for curve in row.curves:
        colour = _COLOURS[curve.dtype]
        drawn = [
            (eps, max(error, _FLOOR)) for eps, error in zip(curve.eps, curve.errors, strict=True) if error < math.inf
        ]
        axis.plot(*zip(*drawn, strict=True), marker=".", color=colour, label=curve.dtype)
        _draw_branches(axis, curve, colour)
    axis.set(xscale="log", yscale="log", xlabel="eps", ylabel="error of the numeric derivative, relative")
    axis.set_ylim(_FLOOR / 3, 10.0)
    axis.invert_xaxis()
    axis.grid(alpha=0.3)
    axis.legend(loc="lower left")
    verdict = textwrap.fill(row.message, 80)
    axis.set_title(f"{row.operator} in {row.framework}: {row.status.value}\n{verdict}", fontsize=9)


def _draw_branches(axis: Any, curve: Curve, colour: str) -> None:
    """Draw truncation left of the best eps, rounding right of it, and the best eps; or note a wrong formula."""
    least, best = max(curve.errors[curve.best], _FLOOR), curve.eps[curve.best]
    if curve.settled is not None and least > RIGHT[curve.dtype]:
        axis.annotate("no valley: it is the formula", (curve.eps[0], curve.settled), **_beside(0, 6, colour))
        return
    first = next((place for place, error in enumerate(curve.errors) if error < math.inf), 0)
    if curve.errors[first] > 10 * least:
        steps = curve.eps[first : curve.best + 1]
        axis.plot(steps, [curve.errors[first] * (eps / steps[0]) ** 2 for eps in steps], "--", lw=0.8, color=colour)
        axis.annotate("truncation ~ eps²", (steps[0], curve.errors[first]), **_beside(0, 6, colour))
    steps = curve.eps[curve.best :]
    axis.plot(steps, [_ROUNDING[curve.dtype] / eps for eps in steps], ":", lw=0.8, color=colour)
    axis.annotate("rounding ~ 1/eps", (steps[-1], _ROUNDING[curve.dtype] / steps[-1]), **_beside(-60, 8, colour))
    axis.plot([best], [least], marker="o", mfc="none", ms=10, color=colour)
    axis.annotate(f"best eps {best:.1g}", (best, least), **_beside(0, -14, colour))


def _beside(right: int, up: int, colour: str) -> dict[str, object]:
    return {"xytext": (right, up), "textcoords": "offset points", "fontsize": 7, "color": colour}
