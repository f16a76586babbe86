"""The part of a task's work that kernels do, and what a policy makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbridge.analysis.judge.judgement import Judgement, Verdict
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.task.shapes import PUBLISHED, SHRUNK, Plan
from opbridge.analysis.judge.verdict.work import by_policy, work_of


def run_of(*operations: float) -> Run:
    run = Run()
    for number, count in enumerate(operations):
        run.hear({"ran": number, "operators": [], "changed": [], "operations": count, "calls": 2})
    return run


def trials_of(*operations: float) -> tuple[Trial, ...]:
    kinds = (SHRUNK, PUBLISHED)
    return tuple(Trial(i, Plan(kinds[i]), 1, "", (), operations=count) for i, count in enumerate(operations))


@pytest.mark.parametrize(
    ("of_answer", "of_task", "work"),
    [
        ((0.0, 0.0), (100.0, 9000.0), 1.0),
        ((0.0, 4500.0), (100.0, 9000.0), 0.5),
        # PyTorch may do more than the task needs.
        ((0.0, 12000.0), (100.0, 9000.0), 0.0),
        # A call that was left out says nothing.
        ((25.0,), (100.0, 9000.0), 0.75),
        # There is nothing to compute in a transpose.
        ((0.0, 0.0), (0.0, 0.0), None),
    ],
)
def test_what_pytorch_does_not_is_the_work_of_kernels(
    of_answer: tuple[float, ...], of_task: tuple[float, ...], work: float | None
) -> None:
    assert work_of(run_of(*of_answer), trials_of(*of_task)) == work


def test_calls_that_leave_more_to_pytorch_than_earlier_ones_count() -> None:
    small, large = trials_of(100.0, 9000.0)
    trials = (small, replace(large, number=1, plan=small.plan, operations=100.0), replace(large, number=2))
    assert work_of(run_of(0.0, 0.0, 0.0), trials) == 1.0
    assert work_of(run_of(0.0, 80.0, 0.0), trials) == pytest.approx(0.2)
    assert work_of(run_of(80.0, 0.0, 0.0), trials) == 1.0, "the first call may prepare something"


@pytest.mark.parametrize(
    ("work", "policy", "verdict"),
    [
        (0.5, "kernels", Verdict.RIGHT),
        (0.49, "kernels", Verdict.CHEATING),
        (0.0, "any", Verdict.RIGHT),
        (None, "kernels", Verdict.RIGHT),
    ],
)
def test_a_policy_says_who_has_to_do_the_work(work: float | None, policy: str, verdict: Verdict) -> None:
    found = by_policy(Judgement(Verdict.RIGHT, work=work), policy)
    assert (found.verdict, found.work) == (verdict, work)
    assert [reason.check for reason in found.reasons] == ["work"] * (verdict is Verdict.CHEATING)
    assert Judgement.parse(found.to_json()) == found


def test_what_is_wrong_stays_so() -> None:
    assert by_policy(Judgement(Verdict.WRONG, work=0.0), "kernels").verdict is Verdict.WRONG
