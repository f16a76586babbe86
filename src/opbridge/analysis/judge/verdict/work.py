"""Measure the part of a task's work that an answer does not leave to PyTorch's operators."""

from __future__ import annotations

from dataclasses import replace

from opbridge.analysis.judge.answer.submissions import KERNELS
from opbridge.analysis.judge.judgement import WORK, Judgement, Reason, Verdict
from opbridge.analysis.judge.process.jobs import Trial, telling
from opbridge.analysis.judge.process.run_record import Run

_LEAST = 0.5
"""The part that the policy `kernels` asks for."""


def work_of(run: Run, trials: tuple[Trial, ...]) -> float | None:
    """Return the part of the work that is left for the kernels, from 0 to 1; None if the task has none to measure.

    It is that of the trial with the most work, or of the one with the most calls if later calls leave more to
    operators than earlier ones of the same sizes. Operations are counted from shapes, by the same rules for the
    reference and for the operators of the answer; kernels do the rest, by whatever algorithm. A task that only moves
    numbers has no operations.
    """
    called = [trial for trial in trials if trial.number in run.ran and trial.operations]
    most = max(called, key=lambda trial: trial.operations, default=None)
    if most is None:
        return None
    weighed = [most, *(trial for trial in called if trial == telling(trials) and _leaves_more(run, trial, called))]
    return max(0.0, min(1.0 - run.operations(trial) / trial.operations for trial in weighed))


def _leaves_more(run: Run, trial: Trial, called: list[Trial]) -> bool:
    """Return whether a trial leaves more to operators than one before it, of the same sizes."""
    before = [one for one in called if one.plan == trial.plan and one.number < trial.number]
    return any(run.operations(one) < run.operations(trial) for one in before)


def by_policy(found: Judgement, policy: str) -> Judgement:
    """Return the judgement of a right answer by who has to do the work."""
    if found.verdict is not Verdict.RIGHT or policy != KERNELS or found.work is None or found.work >= _LEAST:
        return found
    message = f"its kernels do {found.work:.1%} of the work of the task, and PyTorch's operators the rest"
    to_do = "compute at least half of it in kernels; with --policy any, PyTorch's operators count too"
    return replace(found, verdict=Verdict.CHEATING, reasons=(Reason(WORK, message, to_do), *found.reasons))
