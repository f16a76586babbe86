"""Show one operator in the report, as a section that readers can open."""

from __future__ import annotations

from collections.abc import Mapping

from opbridge.analysis.bench.measurement import LARGE, SMALL, Measurement, Run
from opbridge.analysis.bench.tables import PREDICTED, amount, percent, prediction, seconds, spread
from opbridge.analysis.report import charts
from opbridge.analysis.report.contents import ReportedKernel, ReportedOperator, place_of
from opbridge.analysis.report.dispatch_keys import Key, Level
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import code, mark, number, table, without_empty_columns
from opbridge.verify.check.results import Row, Status

_DEVICES = {"CPU": "cpu", "CUDA": "cuda", "PrivateUse1": "npu"}
"""The device whose kernel a PyTorch dispatch key calls."""


def section(
    operator: ReportedOperator, history: Mapping[str, Run], shown: dict[str, str], with_sources: bool, is_open: bool
) -> Markup:
    """Return the section about an operator.

    `shown` records the sources that the page shows already, by text, with the section to link to; this adds to it.
    """
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
    return element("details", head, parts, class_="operator", id=operator.anchor, open=is_open)


def _part(title: str, *content: Child) -> Markup:
    return element("section", element("h4", title), content)


def _rules(operator: ReportedOperator) -> Markup | None:
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


def _dtypes(operator: ReportedOperator) -> Markup | None:
    found = {place_of(row): dict(row.dtypes) for row in operator.rows if row.dtypes}
    dtypes = list(dict.fromkeys(name for seen in found.values() for name in seen))
    if not dtypes:
        return None
    words = {
        Status.PASSED: "right",
        Status.FAILED: "wrong",
        Status.SKIPPED: "the framework lacks it",
        Status.UNCHECKED: "it ran, and there was nothing to compare with",
    }

    def cell(seen: Mapping[str, Status], dtype: str) -> Markup:
        status = seen.get(dtype)
        return mark(status, words[status] if status else "")

    rows = [[dtype, *(cell(seen, dtype) for seen in found.values())] for dtype in dtypes]
    return _part("Element types", table(f"Element types of {operator.short}", ["", *found], rows))


def _checks(operator: ReportedOperator) -> Markup | None:
    if not operator.rows:
        return None
    order = {Status.FAILED: 0, Status.UNCHECKED: 1, Status.PASSED: 2, Status.SKIPPED: 3}
    rows: list[list[Child]] = [
        [[mark(row.status), f" {row.check}"], place_of(row), element("span", row.message, class_="message")]
        for row in sorted(operator.rows, key=lambda row: order[row.status])
    ]
    return _part("Checks", table(f"Checks of {operator.short}", ["check", "framework", "what was seen"], rows))


def _gradients(operator: ReportedOperator) -> Markup | None:
    rows = [row for row in operator.rows if row.curves]
    figures = [_figure(operator, row, place) for place, row in enumerate(rows)]
    return _part("Gradient: error against eps", element("div", figures, class_="figures")) if figures else None


def _figure(operator: ReportedOperator, row: Row, place: int) -> Markup:
    name = f"gradient-{operator.anchor}-{place}"
    caption = element("figcaption", mark(row.status), f" {place_of(row)}: {row.message}")
    return element("figure", charts.gradient(name, row), caption)


def _times(operator: ReportedOperator) -> Markup | None:
    problems = [element("p", f"{item.framework}: not measured: {item.message}") for item in operator.problems]
    if not operator.measurements:
        return _part("Times", problems) if problems else None
    return _part("Times", times(f"Times of {operator.short}", operator.measurements, short=None), problems)


def times(caption: str, measurements: tuple[Measurement, ...], short: Mapping[str, Child] | None) -> Child:
    """Return measured times as a table; `short` has the names to show if the table covers several operators."""
    head: list[Child] = ["framework", "input", "a call", "reference", "moves", "of the machine's limit", "predicted"]
    rows: list[list[Child]] = []
    for item in measurements:
        race: Child = item.note
        if item.ratio:
            race = [
                number(f"{item.ratio.median:.2f}×"),
                f" {item.reference} ",
                number(f"({item.ratio.low:.2f} to {item.ratio.high:.2f})"),
            ]
        row: list[Child] = [
            place_of(item),
            element("code", item.input),
            [number(seconds(item.time.median)), " ", number(spread(item.time))],
            race,
            number(amount(item.bytes / item.time.median, "B/s")) if item.reached else None,
            _reached(item),
            number(prediction(item)) if item.chip else None,
        ]
        rows.append(row if short is None else [short[item.operator], *row])
    made = table(caption, *without_empty_columns(head if short is None else ["operator", *head], rows))
    return [made, element("p", PREDICTED) if any(item.chip for item in measurements) else None]


def _reached(item: Measurement) -> Child:
    if item.reached is None:
        return None
    part = item.reached.median
    said = f"{percent(part)} of {item.bound}'s"
    return [element("meter", min="0", max="1", value=f"{min(part, 1):.3f}", aria_label=said), f" {said}"]


def _history(operator: ReportedOperator, history: Mapping[str, Run]) -> Markup | None:
    figures = []
    for extent in (SMALL, LARGE):
        drawn = charts.history(f"history-{operator.anchor}-{extent}", operator.name, history, extent)
        if drawn is not None:
            figures.append(element("figure", drawn, element("figcaption", f"A call with the {extent} input")))
    if not figures:
        return None
    found = {
        name: [item for item in run.measurements if item.operator == operator.name] for name, run in history.items()
    }
    columns = list(dict.fromkeys((place_of(item), item.extent) for items in found.values() for item in items))
    rows: list[list[Child]] = []
    for name, items in found.items():
        times_by_column = {(place_of(item), item.extent): number(seconds(item.time.median)) for item in items}
        when = history[name].date.replace("T", " ").partition("+")[0]
        rows.append([name, when, *(times_by_column.get(column) for column in columns)])
    head = ["run", "when (UTC)", *(f"{place}, {extent}" for place, extent in columns)]
    numbers = table(f"Runs of {operator.short}", head, rows)
    return _part("Over time", element("div", figures, class_="figures"), numbers)


def _dispatch(operator: ReportedOperator) -> Markup | None:
    if not operator.dispatch:
        return None
    root = element("code", f"torch.ops.{operator.name.replace('::', '.')}")
    tree = element("ul", element("li", root, _below(operator, operator.dispatch)), class_="tree")
    return _part("Dispatch in PyTorch", element("p", "What a call meets, one key of each level at most."), tree)


def _below(operator: ReportedOperator, levels: tuple[Level, ...]) -> Markup | None:
    if not levels:
        return None
    level = levels[0]
    keys = [element("li", element("code", key.name), f" {_meaning(operator, key)}") for key in level.keys]
    return element(
        "ul", element("li", element("strong", level.what), element("ul", keys), _below(operator, levels[1:]))
    )


def _meaning(operator: ReportedOperator, key: Key) -> str:
    """Return the library that registered a key, and the kernel that it calls, if any."""
    device = _DEVICES.get(key.name)
    kernels = [kernel for kernel in operator.kernels if kernel.device == device]
    if device is None:
        return f"by {key.by}"
    return f"by {key.by}: " + (kernels[0].text if kernels else f"an error, as there is no kernel for {device}")


def _sources(operator: ReportedOperator, shown: dict[str, str]) -> Markup | None:
    parts = [_source(operator, kernel, shown) for kernel in operator.kernels]
    return _part("Kernels", parts) if parts else None


def _source(operator: ReportedOperator, kernel: ReportedKernel, shown: dict[str, str]) -> Markup:
    head = f"{kernel.device}: {kernel.text}"
    if kernel.source is None:
        return element("p", head)
    if kernel.source in shown:
        anchor, name = shown[kernel.source].split(" ")
        return element("p", f"{head}, in the source shown at ", element("a", name, href=f"#{anchor}"))
    shown[kernel.source] = f"{operator.anchor} {operator.short}"
    return element("details", element("summary", head), code(kernel.source, f"Source of {kernel.text}"))
