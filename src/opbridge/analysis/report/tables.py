"""Build tables that screen readers can read and phones can scroll, and the marks in them."""

from __future__ import annotations

from collections.abc import Sequence

from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.verify.check.results import Status

_MARKS = {Status.PASSED: "✓", Status.FAILED: "✗", Status.SKIPPED: "–", Status.UNCHECKED: "?"}


def mark(status: Status | None, said: str = "") -> Markup:
    """Return a sign for the eye and a word for screen readers; None means that nothing was checked."""
    if status is None:
        return element("span", "not checked", class_="hidden")
    word = said or status.value
    sign = element("span", _MARKS[status], aria_hidden="true", class_=f"sign {status.value}")
    return element("span", sign, element("span", word, class_="hidden"), title=word)


def table(caption: str, head: Sequence[Child], rows: Sequence[Sequence[Child]]) -> Markup:
    """Return a table whose rows begin with a heading; only screen readers read the caption."""
    columns = element("tr", [element("th", cell, scope="col") for cell in head])
    lines = [
        element("tr", element("th", row[0], scope="row"), [element("td", cell) for cell in row[1:]]) for row in rows
    ]
    made = element(
        "table", element("caption", caption, class_="hidden"), element("thead", columns), element("tbody", lines)
    )
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def without_empty_columns(
    head: Sequence[Child], rows: Sequence[Sequence[Child]]
) -> tuple[list[Child], list[list[Child]]]:
    """Remove the columns in which every row is empty."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return [head[place] for place in kept], [[row[place] for place in kept] for row in rows]


def number(text: str) -> Markup:
    """Return text that keeps a number and its unit on one line."""
    return element("span", text, class_="number")


def code(text: str, label: str) -> Markup:
    """Return a block of code with a label for screen readers."""
    return element("pre", element("code", text), tabindex="0", role="region", aria_label=label)
