"""Show how many answers are right, why the others are not, and each with its source: `opbridge judge DIR --page`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from opbridge.analysis.judge.judgement import Verdict
from opbridge.analysis.report.charts import legend
from opbridge.analysis.report.document import MOST_BYTES, document
from opbridge.analysis.report.judged_answer import ShownAnswer, section, status_of
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import mark, number, table

_COLOURS = {Verdict.RIGHT: 3, Verdict.WRONG: 4, Verdict.BROKEN: 1, Verdict.CHEATING: 2, Verdict.UNDECIDED: 0}
_AROUND, _MOST_LINKS, _WIDTH = 4, 6, 640
"""Lines around each place in shortened sources, links in a table row, and the width of the bar."""


@dataclass(frozen=True)
class ShownAnswers:
    """The contents of the page of verdicts."""

    title: str
    date: str
    version: str
    answers: Sequence[ShownAnswer]

    def link(self, answer: ShownAnswer) -> Markup:
        """Return a link to the section about an answer."""
        return element("a", answer.name, href=f"#{self.anchors[answer.name]}")

    @cached_property
    def anchors(self) -> dict[str, str]:
        """The id of the section about each answer, by name."""
        return {answer.name: f"answer-{place}" for place, answer in enumerate(self.answers)}

    @cached_property
    def counts(self) -> dict[Verdict, int]:
        """The number of answers for each verdict that occurs."""
        counts = Counter(answer.judgement.verdict for answer in self.answers)
        return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}


def judgements_page(shown: ShownAnswers) -> str:
    """Return the HTML page of verdicts, kept below MOST_BYTES.

    If the whole page is larger, it has only the lines around marked places; if that is larger too, only the tables.
    """
    for around in (None, _AROUND):
        made = _page(shown, around, with_parts=True)
        if len(made.encode()) <= MOST_BYTES:
            return made
    return _page(shown, None, with_parts=False)


def _page(shown: ShownAnswers, around: int | None, *, with_parts: bool) -> str:
    left_out = None
    if around is not None or not with_parts:
        what = (
            "The sources, but for what is around the places that are marked, are" if with_parts else "The answers are"
        )
        left_out = element("p", f"{what} left out, to keep this file below {MOST_BYTES // 1_000_000} MB.")
    parts = [section(answer, shown.anchors[answer.name], around) for answer in shown.answers] if with_parts else []
    main = [
        _summary(shown, left_out),
        _why(shown, with_parts),
        _tasks(shown),
        _numbers(shown, with_parts),
        element("section", element("h2", "Each with its source"), parts, id="answers") if with_parts else None,
    ]
    header = element("header", element("h1", shown.title), element("p", shown.date.replace("T", " ")[:16] + " UTC"))
    return document(f"opbridge judge: {shown.title}", shown.version, header, None, main)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _summary(shown: ShownAnswers, left_out: Child) -> Markup:
    total, right = len(shown.answers), shown.counts.get(Verdict.RIGHT, 0)
    said = f"{right} of {total} answers are right."
    meaning = legend({verdict.value: _COLOURS[verdict] for verdict in shown.counts})
    cards = [
        element(
            "li",
            element("strong", str(count)),
            f" {verdict.value}, ",
            number(_percent(count, total)),
            class_=f"card {status_of(verdict).value}",
        )
        for verdict, count in shown.counts.items()
    ]
    return element(
        "section",
        element("h2", "Verdicts"),
        left_out,
        element("p", said),
        element("ul", cards, class_="cards", aria_label="Verdicts"),
        element(
            "figure",
            _bar(shown),
            meaning,
            class_="shares",
        ),
        id="summary",
    )


def _bar(shown: ShownAnswers) -> Markup:
    total = len(shown.answers)
    title = ", ".join(f"{_percent(count, total)} {verdict.value}" for verdict, count in shown.counts.items())
    parts, left = [], 0.0
    for verdict, count in shown.counts.items():
        width = _WIDTH * count / total
        style = f"mark series-{_COLOURS[verdict]}"
        parts.append(element("rect", x=f"{left:.1f}", y=0, width=f"{width:.1f}", height=20, class_=style))
        left += width
    name = "shares"
    said = element("title", title, id=name)
    return element("svg", said, parts, viewBox=f"0 0 {_WIDTH} 20", role="img", aria_labelledby=name)


def _why(shown: ShownAnswers, with_links: bool) -> Markup | None:
    """Return the table of the answers that are not right, grouped by their first reason, the most frequent first."""
    others = [answer for answer in shown.answers if answer.judgement.verdict is not Verdict.RIGHT]
    groups: dict[tuple[str, str], list[ShownAnswer]] = {}
    for answer in others:
        reasons = answer.judgement.reasons
        groups.setdefault((answer.judgement.verdict.value, reasons[0].check if reasons else ""), []).append(answer)
    rows: list[list[Child]] = []
    for (verdict, check), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        to_do = next((answer.judgement.reasons[0].to_do for answer in group if answer.judgement.reasons), "")
        rows.append(
            [
                check or "no reason",
                verdict,
                number(f"{len(group)}, {_percent(len(group), len(others))}"),
                element("span", to_do, class_="message"),
                _links(shown, group) if with_links else None,
            ]
        )
    if not rows:
        return None
    made = table("Why the others are not right", ["check", "verdict", "answers", "hint", "which"], rows)
    return element("section", element("h2", "Why the others are not"), made, id="why")


def _links(shown: ShownAnswers, group: Sequence[ShownAnswer]) -> list[Child]:
    made: list[Child] = []
    for answer in group[:_MOST_LINKS]:
        made += [", " if made else "", shown.link(answer)]
    left = len(group) - _MOST_LINKS
    return [*made, f" and {left} more" if left > 0 else ""]


def _tasks(shown: ShownAnswers) -> Markup | None:
    rows: list[list[Child]] = []
    for task, group in groupby(shown.answers, key=lambda answer: answer.task):
        verdicts = [answer.judgement.verdict for answer in group]
        right = verdicts.count(Verdict.RIGHT)
        rows.append([task, str(len(verdicts)), number(f"{right}, {_percent(right, len(verdicts))}")])
    if len(rows) < 2:
        return None
    made = table("Tasks, and how many of their answers are right", ["task", "answers", "right"], rows)
    return element("section", element("h2", "Tasks"), made, id="tasks")


def _numbers(shown: ShownAnswers, with_links: bool) -> Markup:
    rows: list[list[Child]] = []
    for answer in shown.answers:
        found = answer.judgement
        rows.append(
            [
                shown.link(answer) if with_links else answer.name,
                element("span", mark(answer.status, found.verdict.value), f" {found.verdict.value}", class_="number"),
                found.reasons[0].check if found.reasons else "",
                number(str(len(found.shapes))),
                number(f"{found.seconds:g} s"),
                number(f"{answer.cost.seconds * 1e3:.3g} ms, {answer.cost.speedup:.2g}×") if answer.cost else None,
            ]
        )
    head = ["answer", "verdict", "by", "inputs", "judged in", _predicted(shown)]
    return element("section", element("h2", "All answers"), table("All answers", head, rows), id="all")


def _predicted(shown: ShownAnswers) -> str:
    chips = dict.fromkeys(answer.cost.chip for answer in shown.answers if answer.cost)
    return f"predicted on {', '.join(chips)}, never measured" if chips else "predicted cost"
