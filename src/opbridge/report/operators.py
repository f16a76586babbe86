"""An operator's part of the report: a section that opens when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from opbridge.bench.model import LARGE, SMALL, Measurement, Run
from opbridge.bench.tables import amount, seconds, spread
from opbridge.check.model import Row, Status
from opbridge.report import charts
from opbridge.report.dispatch import Level
from opbridge.report.markup import Child, Markup, element
from opbridge.report.model import Kernel, Operator, place_of
from opbridge.report.tables import code, mark, table


def section(operator: Operator, history: Mapping[str, Run], shown: dict[str, str], with_sources: bool) -> Markup:
    """`shown` are the sources that other operators have shown, by text: where one may go to read them."""
    parts: list[Child] = [
        code(operator.schema, f"Signature of {operator.short}"),
        _rules(operator),
        _dtypes(operator),
        _checks(operator),
        _gradients(operator),
        _times(operator),
        _history(operator, history),
        _dispatch(operator),
        _sources(operator, shown) if with_sources else None,
    ]
    head = element("summary", mark(operator.status), " ", element("h3", operator.short))
    return element("details", head, parts, class_="operator", id=operator.anchor)


def _part(title: str, *content: Child) -> Markup:
    return element("section", element("h4", title), content)


def _rules(operator: Operator) -> Markup | None:
    if not operator.rules:
        return None
    items: list[Markup] = []
    for name, value in operator.rules.items():
        items += [element("dt", name), element("dd", element("code", _rule(value)))]
    return _part("Rules", element("dl", items))


def _rule(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {item}" for key, item in value.items())
    return ", ".join(map(_rule, value)) if isinstance(value, list) else str(value)


def _dtypes(operator: Operator) -> Markup | None:
    found = {place_of(row): dict(row.dtypes) for row in operator.rows if row.dtypes}
    dtypes = list(dict.fromkeys(name for seen in found.values() for name in seen))
    if not dtypes:
        return None
    words = {Status.PASSED: "right", Status.FAILED: "wrong", Status.SKIPPED: "the framework has not got it"}

    def cell(seen: Mapping[str, Status], dtype: str) -> Markup:
        status = seen.get(dtype)
        return mark(status, words[status] if status else "")

    rows = [[dtype, *(cell(seen, dtype) for seen in found.values())] for dtype in dtypes]
    return _part("Element types", table(f"Element types of {operator.short}", ["", *found], rows))


def _checks(operator: Operator) -> Markup | None:
    if not operator.rows:
        return None
    order = {Status.FAILED: 0, Status.PASSED: 1, Status.SKIPPED: 2}
    rows: list[list[Child]] = [
        [row.check, place_of(row), mark(row.status), element("span", row.message, class_="message")]
        for row in sorted(operator.rows, key=lambda row: order[row.status])
    ]
    return _part("Checks", table(f"Checks of {operator.short}", ["check", "framework", "", "what was seen"], rows))


def _gradients(operator: Operator) -> Markup | None:
    rows = [row for row in operator.rows if row.curves]
    figures = [_figure(operator, row, place) for place, row in enumerate(rows)]
    return _part("Gradient: error against eps", element("div", figures, class_="figures")) if figures else None


def _figure(operator: Operator, row: Row, place: int) -> Markup:
    name = f"gradient-{operator.anchor}-{place}"
    caption = element("figcaption", mark(row.status), f" {place_of(row)}: {row.message}")
    return element("figure", charts.gradient(name, row), caption)


def _times(operator: Operator) -> Markup | None:
    problems = [element("p", f"{item.framework}: not measured: {item.message}") for item in operator.problems]
    if not operator.measurements:
        return _part("Times", problems) if problems else None
    return _part("Times", times(f"Times of {operator.short}", operator.measurements, short=None), problems)


def times(caption: str, measurements: tuple[Measurement, ...], short: Mapping[str, Child] | None) -> Markup:
    """Measured times as a table; `short` are the operators' names, where there are several."""
    head: list[Child] = ["framework", "input", "a call", "reference", "moves", "of the machine's limit"]
    rows: list[list[Child]] = []
    for item in measurements:
        race = ""
        if item.ratio:
            race = f"{item.ratio.median:.2f}× {item.reference} ({item.ratio.low:.2f} to {item.ratio.high:.2f})"
        row: list[Child] = [
            place_of(item),
            element("code", item.input),
            f"{seconds(item.time.median)} {spread(item.time)}",
            race or item.note,
            amount(item.bytes / item.time.median, "B/s"),
            _reached(item),
        ]
        rows.append(row if short is None else [short[item.operator], *row])
    return table(caption, head if short is None else ["operator", *head], rows)


def _reached(item: Measurement) -> Child:
    if item.reached is None:
        return None
    part = item.reached.median
    said = f"{part:.0%} of {item.bound}'s"
    return [element("meter", min="0", max="1", value=f"{min(part, 1):.3f}", aria_label=said), f" {said}"]


def _history(operator: Operator, history: Mapping[str, Run]) -> Markup | None:
    figures = []
    for extent in (SMALL, LARGE):
        drawn = charts.history(f"history-{operator.anchor}-{extent}", operator.name, history, extent)
        if drawn is not None:
            figures.append(element("figure", drawn, element("figcaption", f"A call with the {extent} input")))
    if not figures:
        return None
    rows: list[list[Child]] = []
    for name, run in history.items():
        found = [item for item in run.measurements if item.operator == operator.name]
        if found:
            times_by_extent = [_middle(found, extent) for extent in (SMALL, LARGE)]
            rows.append([name, run.date.replace("T", " ").partition("+")[0], *times_by_extent])
    head = ["run", "when (UTC)", "a small call", "a large call"]
    numbers = table(f"Runs of {operator.short}, the median of the frameworks", head, rows)
    return _part("Over time", element("div", figures, class_="figures"), numbers)


def _middle(measurements: list[Measurement], extent: str) -> str:
    found = [item.time.median for item in measurements if item.extent == extent]
    return seconds(median(found)) if found else ""


def _dispatch(operator: Operator) -> Markup | None:
    if not operator.dispatch:
        return None
    root = element("code", f"torch.ops.{operator.name.replace('::', '.')}")
    tree = element("ul", element("li", root, _below(operator.dispatch)), class_="tree")
    return _part("Dispatch in PyTorch", element("p", "What a call meets, one key of each level at most."), tree)


def _below(levels: tuple[Level, ...]) -> Markup | None:
    if not levels:
        return None
    level = levels[0]
    keys = [
        element("li", element("code", key.name), element("span", f" {key.by}", class_="small")) for key in level.keys
    ]
    return element("ul", element("li", level.what, element("ul", keys), _below(levels[1:])))


def _sources(operator: Operator, shown: dict[str, str]) -> Markup | None:
    parts = [_source(operator, kernel, shown) for kernel in operator.kernels]
    return _part("Kernels", parts) if parts else None


def _source(operator: Operator, kernel: Kernel, shown: dict[str, str]) -> Markup:
    head = f"{kernel.device}: {kernel.text}"
    if kernel.source is None:
        return element("p", head)
    if kernel.source in shown:
        anchor, name = shown[kernel.source].split(" ")
        return element("p", f"{head}, in the source shown at ", element("a", name, href=f"#{anchor}"))
    shown[kernel.source] = f"{operator.anchor} {operator.short}"
    return element("details", element("summary", head), code(kernel.source, f"Source of {kernel.text}"))
