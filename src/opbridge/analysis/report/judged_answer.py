"""Show one answer on the page of verdicts: the reasons, the numbers, and its source with the places marked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from opbridge.analysis.judge.answer.source_lines import line_of
from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.verdict.costs import Prediction
from opbridge.analysis.report.markup import Child, Markup, element
from opbridge.analysis.report.tables import mark
from opbridge.verify.check.results import Status


def status_of(verdict: Verdict) -> Status:
    """Return the status that marks a verdict in tables."""
    return {Verdict.RIGHT: Status.PASSED, Verdict.UNDECIDED: Status.SKIPPED}.get(verdict, Status.FAILED)


@dataclass(frozen=True)
class ShownAnswer:
    """An answer with its source and its verdict."""

    task: str
    name: str
    """The answer; `task` and `name` are paths below the judged folder."""
    source: str
    judgement: Judgement
    cost: Prediction | None = None

    @property
    def status(self) -> Status:
        """The status that marks the verdict."""
        return status_of(self.judgement.verdict)

    @cached_property
    def lines(self) -> dict[int, Reason]:
        """The lines of the source that reasons point to."""
        file = self.name.rpartition("/")[2]
        found = ((line_of(reason.place, file, self.source), reason) for reason in self.judgement.reasons)
        return {line: reason for line, reason in found if line}


def section(answer: ShownAnswer, anchor: str, around: int | None) -> Markup:
    """Return the section about an answer, with `around` lines about each marked place; None shows the whole source."""
    found = answer.judgement
    head = element(
        "summary", mark(answer.status, found.verdict.value), " ", element("h3", answer.name), f" {found.verdict.value}"
    )
    facts: list[Child] = []
    for name, value in (
        ("task", answer.task),
        ("holds for", found.holds_for if found.verdict is Verdict.RIGHT else ""),
        ("held on", "; ".join(found.shapes)),
        ("judged in", f"{found.seconds:g} s"),
        ("predicted", f"{answer.cost}, never measured" if answer.cost else ""),
    ):
        if value:
            facts += [element("dt", name), element("dd", value)]
    return element(
        "details",
        head,
        [_reason(reason) for reason in found.reasons],
        element("dl", facts),
        _source(answer, around),
        class_="operator",
        id=anchor,
    )


def _reason(reason: Reason) -> Markup:
    shown = f"with {reason.shape}, seed {reason.seed}" if reason.shape else ""
    lines = [
        element("p", element("strong", reason.check), f" {reason.place} ", class_="reason"),
        element("p", reason.message, class_="message"),
        element("p", shown, class_="small") if shown else None,
        element("p", f"Hint: {reason.to_do}") if reason.to_do else None,
    ]
    return element("section", lines)


def _source(answer: ShownAnswer, around: int | None) -> Markup | None:
    lines = answer.source.split("\n")
    wanted = [number for number in range(1, len(lines) + 1) if around is None or _is_near(number, answer.lines, around)]
    if not wanted:
        return None
    width = len(str(wanted[-1]))
    shown: list[Child] = []
    for before, line in zip([0, *wanted], wanted, strict=False):
        if line > before + 1:
            shown.append("…\n")
        text = [element("span", f"{line:{width}} ", class_="line-number"), lines[line - 1]]
        shown.append([element("mark", text, title=answer.lines[line].check) if line in answer.lines else text, "\n"])
    label = f"Source of {answer.name}"
    return element("pre", element("code", shown), tabindex="0", role="region", aria_label=label, class_="source")


def _is_near(line: int, places: dict[int, Reason], around: int) -> bool:
    return any(abs(line - place) <= around for place in places)
