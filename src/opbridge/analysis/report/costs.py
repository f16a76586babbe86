"""Show the predicted costs of kernels, from the output of `opbridge profile --json`, as charts and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbridge.analysis.bench.tables import seconds
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import number, table

_WIDTH, _NAMES, _ROW, _BAR, _VALUES = 640, 150, 24, 14, 90
_LINES = 8


def section(profile: Mapping[str, Any]) -> Markup:
    """Return the section about a profile."""
    kernels = profile["kernels"]
    said = f"By counts in a twin and the published rates of {profile['chip']}; nothing of it was measured."
    rows: list[list[Child]] = [
        [kernel["name"], str(kernel["launches"]), number(seconds(kernel["predicted_seconds"])), kernel["bound"] or ""]
        for kernel in kernels
    ]
    made = table("Predicted costs", ["kernel", "launches", "a launch", "bound by"], rows)
    parts = [_kernel(f"cost-{place}", kernel) for place, kernel in enumerate(kernels)]
    return element("section", element("h2", "Predicted costs"), element("p", said), made, parts, id="costs")


def _kernel(name: str, kernel: Mapping[str, Any]) -> Markup:
    is_cuda = "bounds" in kernel
    title = "What a launch takes at least, by each rate" if is_cuda else "Cycles that each pipe of a block works"
    values = kernel["bounds"] if is_cuda else {pipe: row["busy_cycles"] for pipe, row in kernel["pipes"].items()}
    shown = {key: seconds(value) if is_cuda else f"{value} cycles" for key, value in values.items()}
    figure = element("figure", _bars(name, f"{title}: {kernel['name']}", values, shown), element("figcaption", title))
    advice = [element("li", sentence) for sentence in kernel.get("advice", ())]
    head = element("summary", element("h3", kernel["name"]))
    return element(
        "details", head, figure, element("ul", advice) if advice else None, _lines(kernel), class_="operator"
    )


def _bars(name: str, title: str, values: Mapping[str, float], shown: Mapping[str, str]) -> Markup:
    """Draw a bar for each value, the longest first, with its name before it and its value after it."""
    most = max(values.values(), default=0) or 1
    parts: list[Markup] = []
    for place, (key, value) in enumerate(sorted(values.items(), key=lambda pair: -pair[1])):
        top = place * _ROW + (_ROW - _BAR) / 2
        length = round((_WIDTH - _NAMES - _VALUES) * value / most, 1)
        parts.append(element("text", key, x=_NAMES - 8, y=top + _BAR - 3, text_anchor="end"))
        parts.append(element("rect", x=_NAMES, y=top, width=length, height=_BAR, class_="mark series-0"))
        parts.append(element("text", shown[key], x=_NAMES + length + 6, y=top + _BAR - 3, class_="small"))
    label = element("title", title, id=name)
    box = f"0 0 {_WIDTH} {max(len(values), 1) * _ROW}"
    return element("svg", label, parts, viewBox=box, role="img", aria_labelledby=name)


def _lines(kernel: Mapping[str, Any]) -> Markup:
    rows: list[list[Child]] = [
        [line["place"], _what(line), line.get("advice", "")] for line in kernel["lines"][:_LINES]
    ]
    return table(f"Heaviest lines of {kernel['name']}", ["line", "what it does", "hint"], rows)


def _what(line: Mapping[str, object]) -> str:
    if "pipe" in line:
        return f"{line['instruction']} on {line['pipe']}, {line['runs']} runs, {line['cycles']} cycles"
    parts = next((f", {line[key]} {key}" for key in ("sectors", "passes", "turns") if key in line), "")
    return f"{line.get('space', '')} {line['kind']}, {line['requests']} requests{parts}".strip()
