"""Build the whole report as one HTML file that loads nothing from a network and stays small."""

from __future__ import annotations

from collections import Counter

from opbridge.analysis.bench.measurement import LARGE
from opbridge.analysis.bench.tables import machine_line
from opbridge.analysis.report import charts, costs, operator_section
from opbridge.analysis.report.contents import Contents, ReportedOperator, place_of
from opbridge.analysis.report.document import MOST_BYTES, document
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import mark, table
from opbridge.verify.check.results import Status

_FEW = 2
"""With at most this many operators, their sections are open from the start."""


def page(contents: Contents) -> str:
    """Return the HTML report, kept below MOST_BYTES.

    If the whole report is larger, it has no sources; if that is larger too, no sections about operators.
    """
    for with_sources, with_parts in ((True, True), (False, True)):
        made = _page(contents, with_sources, with_parts)
        if len(made.encode()) <= MOST_BYTES:
            return made
    return _page(contents, False, False)


def _page(contents: Contents, with_sources: bool, with_parts: bool) -> str:
    shown: dict[str, str] = {}
    parts: list[Child] = []
    if with_parts:
        are_few = len(contents.operators) <= _FEW
        parts = [
            operator_section.section(item, contents.history, shown, with_sources, are_few)
            for item in contents.operators
        ]
    left_out = None
    if not with_sources:
        left_out = "The kernels' sources are" if with_parts else "All but the summary is"
        left_out = element("p", f"{left_out} left out, to keep this file below {MOST_BYTES // 1_000_000} MB.")
    main = [
        _summary(contents, with_parts, left_out),
        _conformance(contents),
        _speed(contents, with_parts),
        costs.section(contents.profile) if contents.profile else None,
        element("section", element("h2", "Operators"), parts, id="operators") if with_parts else None,
    ]
    navigation = _navigation(contents) if with_parts else None
    return document(f"opbridge report: {contents.title}", contents.version, _header(contents), navigation, main)


def _header(contents: Contents) -> Markup:
    when = contents.date.replace("T", " ").partition("+")[0]
    known = [f"{when} UTC", machine_line(contents.run) if contents.run else ""]
    return element("header", element("h1", contents.title), element("p", " · ".join(filter(None, known))))


def _navigation(contents: Contents) -> Markup:
    links = [element("li", mark(item.status), " ", _link(item)) for item in contents.operators]
    return element("nav", element("h2", "Contents"), element("ul", links), aria_label="Operators")


def _link(operator: ReportedOperator) -> Markup:
    return element("a", operator.short, href=f"#{operator.anchor}")


def _summary(contents: Contents, with_parts: bool, left_out: Child) -> Markup:
    counts = Counter(row.status for row in contents.rows)
    cards = [
        element("li", element("strong", str(counts[status])), f" {status.value}", class_=f"card {status.value}")
        for status in Status
    ]
    failed = [
        element(
            "li",
            _link(operator) if with_parts else operator.short,
            f", {row.check} in {place_of(row)}: ",
            element("span", row.message, class_="message"),
        )
        for operator in contents.operators
        for row in operator.rows
        if row.failed
    ]
    problems = [
        element("li", f"{operator.short} in {problem.framework} was not measured: {problem.message}")
        for operator in contents.operators
        for problem in operator.problems
    ]
    wrong = [element("h3", "What is wrong"), element("ul", failed, problems)] if failed or problems else None
    checks = element("ul", cards, class_="cards", aria_label="Checks") if contents.rows else None
    return element("section", element("h2", "Summary"), left_out, checks, wrong, id="summary")


def _conformance(contents: Contents) -> Markup | None:
    """Return the table of operators against frameworks; the section about an operator has the element types."""
    if not contents.rows:
        return None
    places = contents.places
    rows: list[list[Child]] = []
    for operator in contents.operators:
        cells: list[Child] = []
        for place in places:
            counts = Counter(row.status for row in operator.rows if place_of(row) == place)
            checked = counts[Status.PASSED] + counts[Status.FAILED]
            said = (Status.FAILED, Status.PASSED, Status.UNCHECKED)
            status = next((status for status in said if counts[status]), None)
            cells.append([mark(status), f" {counts[Status.PASSED]}/{checked}" if checked else ""])
        rows.append([operator.short, *cells])
    made = table("Conformance: checks passed, of those that say something", ["operator", *places], rows)
    return element("section", element("h2", "Conformance"), made, id="conformance")


def _speed(contents: Contents, with_parts: bool) -> Markup | None:
    if contents.run is None or not contents.run.measurements:
        return None
    roofline = charts.roofline("roofline-chart", contents.run)
    figure = None
    if roofline is not None:
        caption = "Large inputs of the operators with a flops rule; the lines are what this machine can do."
        figure = element("figure", roofline, element("figcaption", caption), class_="wide")
    large = tuple(item for item in contents.run.measurements if item.extent == LARGE) or contents.run.measurements
    names: dict[str, Child] = {
        operator.name: _link(operator) if with_parts else operator.short for operator in contents.operators
    }
    shown = tuple(item for item in large if item.operator in names)
    numbers = operator_section.times("Large inputs, or the only ones", shown, names)
    title = "Roofline" if figure else "Times"
    return element("section", element("h2", title), figure, numbers, id=title.lower())
