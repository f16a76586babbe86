"""What is judged once more; nothing is compiled or run here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import attacks
import pytest

from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.process.jobs import ReferenceJob
from opbridge.analysis.judge.task.formats import format_of
from opbridge.analysis.judge.task.shapes import KEPT, LOOSE, ODD, PUBLISHED, SHRUNK, Plan
from opbridge.analysis.judge.verdict.second_opinion import another

SIZES: dict[str, object] = {"rows": 64, "width": 512}
FEW, FEWER, ODDLY = Plan(LOOSE, (("width", 24),)), Plan(LOOSE, (("rows", 8), ("width", 24))), Plan(ODD, (("rows", 65),))
LAST = Plan(SHRUNK, (("rows", 32),), is_last_resort=True)


@pytest.fixture
def job(tmp_path: Path) -> ReferenceJob:
    task = tmp_path / "reference.py"
    task.write_text(attacks.TASK)
    return ReferenceJob(task, format_of(task), tmp_path, (FEW, FEWER, ODDLY, LAST), (1, 2))


def found(verdict: Verdict, check: str) -> Judgement:
    return Judgement(verdict, (Reason(check, "it differs", shape="float32[8, 24]"),))


def test_what_takes_too_long_is_judged_at_the_smallest_sizes(job: ReferenceJob) -> None:
    further = another(found(Verdict.WRONG, "endless"), [], job, SIZES)
    assert further is not None
    assert further.job.plans == (FEWER, FEW)
    assert another(found(Verdict.WRONG, "endless"), [FEW, FEWER], job, SIZES) is None
    undecided = Judgement(Verdict.UNDECIDED, (*found(Verdict.WRONG, "endless").reasons, Reason("sizes", "too large")))
    settled = further.settled(undecided, undecided)
    assert (settled.verdict, [reason.check for reason in settled.reasons]) == (Verdict.WRONG, ["endless"])
    short = found(Verdict.UNDECIDED, "machine")
    assert further.settled(undecided, short) == undecided


def test_who_may_rely_on_larger_sizes_is_waited_for(job: ReferenceJob) -> None:
    further = another(found(Verdict.UNDECIDED, "sizes"), [FEW], job, SIZES)
    assert further is not None
    assert further.job.is_patient


def test_who_fails_where_numbers_are_lost_may_be_right_where_they_stay(job: ReferenceJob) -> None:
    first = found(Verdict.WRONG, "values")
    further = another(first, [FEW, ODDLY], job, SIZES)
    assert further is not None
    assert further.job.plans == (LAST,)
    right = further.settled(first, Judgement(Verdict.RIGHT))
    assert (right.verdict, right.holds_for, right.reasons) == (Verdict.RIGHT, "published shapes", first.reasons)
    assert further.settled(first, found(Verdict.UNDECIDED, "sizes")) == first
    again = found(Verdict.WRONG, "global-race")
    assert further.settled(first, again) == again


def test_who_relies_on_divisors_of_published_sizes_is_judged_where_they_stay(job: ReferenceJob) -> None:
    small, kept = Plan(SHRUNK, (("width", 64),), loses_numbers=True), Plan(KEPT, (("width", 256),))
    job = replace(job, plans=(small, ODDLY, Plan(PUBLISHED), kept))
    first = found(Verdict.WRONG, "values")
    further = another(first, [small, ODDLY], job, SIZES)
    assert further is not None
    assert further.job.plans == (kept, Plan(PUBLISHED)), "whose sizes are looked at without computing"
    right = further.settled(first, Judgement(Verdict.RIGHT))
    assert (right.verdict, right.holds_for, right.reasons) == (Verdict.RIGHT, "published shapes", first.reasons)
    assert another(first, [small, Plan(PUBLISHED)], job, SIZES) is None, "the published sizes say more"
    assert another(found(Verdict.WRONG, "parameters"), [small], job, SIZES) is None


@pytest.mark.parametrize(
    ("check", "tried"),
    [("parameters", [FEW]), ("program", [FEW]), ("shape", [FEW]), ("values", [FEW, Plan(PUBLISHED)]), ("values", [])],
)
def test_what_no_size_makes_right_is_not_judged_again(job: ReferenceJob, check: str, tried: list[Plan]) -> None:
    assert another(found(Verdict.WRONG, check), tried, job, SIZES) is None
