"""Show a converted network: which operators PyTorch still computes, and where results differ.

This is the page of `opbridge convert --check --page`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opbridge.analysis.report.document import document
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import code, mark, number, table
from opbridge.models.conversion.comparison import TOLERANCE, Comparison, Difference
from opbridge.verify.check.results import Status


@dataclass(frozen=True)
class ShownConversion:
    """The contents of the page about one converted network."""

    network: str
    framework: str
    date: str
    version: str
    comparisons: Sequence[Comparison]
    operators: Sequence[str]
    """The operators that PyTorch kernels compute."""
    native: Sequence[str]
    in_the_way: Mapping[str, str] = field(default_factory=dict)
    first: Difference | None = None
    """The first operator that differs by itself, if a comparison is wrong."""


def conversion_page(shown: ShownConversion) -> str:
    """Return the HTML page about a converted network."""
    title = f"{shown.network} in {shown.framework}"
    header = element("header", element("h1", title), element("p", shown.date.replace("T", " ")[:16] + " UTC"))
    main = [_summary(shown), _first(shown), _comparisons(shown), _operators(shown)]
    return document(f"opbridge convert: {title}", shown.version, header, None, main)


def _wrong(shown: ShownConversion) -> list[Comparison]:
    return [each for each in shown.comparisons if not each.is_right]


def _summary(shown: ShownConversion) -> Markup:
    wrong, total = len(_wrong(shown)), len(shown.comparisons)
    said = f"{wrong} of {total} comparisons differ from PyTorch." if wrong else f"All {total} comparisons agree."
    held = (
        "The value of every result, the gradient of every parameter, and every parameter after three steps of gradient "
        "descent, in inference; where nothing is drawn, values, gradients and buffers of a step in training too.  "
        f"A difference above {TOLERANCE:g} of the largest number of a tensor is wrong."
    )
    return element(
        "section", element("h2", "Comparison with PyTorch"), element("p", said), element("p", held), id="summary"
    )


def _first(shown: ShownConversion) -> Markup | None:
    if not _wrong(shown):
        return None
    if shown.first is None:
        text: Child = element("p", "Each operator agrees by itself, in inference, given PyTorch's numbers.")
    else:
        said = f"The {shown.first.what} of {shown.first.operator} is {shown.first.amount:.1e} off."
        where = [shown.first.line, shown.first.source]
        text = [element("p", said), code("\n".join(filter(None, where)), "Its place in both networks")]
    return element("section", element("h2", "The first operator that differs"), text, id="first")


def _comparisons(shown: ShownConversion) -> Markup:
    rows: list[list[Child]] = []
    for each in sorted(shown.comparisons, key=lambda each: -each.difference):
        status = Status.PASSED if each.is_right else Status.FAILED
        rows.append([each.what, number(f"{each.difference:.1e}"), mark(status)])
    made = table("Comparisons, the largest difference first", ["of", "difference", "agrees"], rows)
    return element("section", element("h2", "Comparisons"), made, id="comparisons")


def _operators(shown: ShownConversion) -> Markup:
    rows: list[list[Child]] = [[name, shown.framework, ""] for name in shown.native]
    rows += [[name, "PyTorch", shown.in_the_way.get(name, "")] for name in shown.operators]
    made = table("Operators, and whose kernels compute them", ["operator", "computed by", "why"], sorted(rows, key=str))
    return element("section", element("h2", "Operators"), made, id="operators")
