"""Decide the verdict from what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from opbridge.analysis.judge.answer.submissions import KERNELS
from opbridge.analysis.judge.judgement import (
    AGAIN,
    ALL_SHAPES,
    GRADIENTS,
    MODE,
    MODELS,
    NOT_RUN,
    PUBLISHED_NUMBERS,
    PUBLISHED_SHAPES,
    SHAPE,
    SIZES,
    SIZES_ALONE,
    STATE,
    TRIED_SHAPES,
    VALUES,
    WEIGHTS,
    WHOLE,
    Judgement,
    Reason,
    Verdict,
)
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.record_channel import Records
from opbridge.analysis.judge.process.run_record import ON_GPU, Run, reason_at
from opbridge.analysis.judge.task.input_numbers import LARGE
from opbridge.analysis.judge.task.shapes import PUBLISHED
from opbridge.analysis.judge.values import load, load_as
from opbridge.analysis.judge.verdict.cheating import cheating
from opbridge.analysis.judge.verdict.compare_calls import held, shares_of
from opbridge.analysis.judge.verdict.failures import of_end, of_error
from opbridge.analysis.judge.verdict.second_opinion import OF_NO_SIZE
from opbridge.analysis.judge.verdict.structures import difference_of_sizes
from opbridge.analysis.judge.verdict.work import work_of
from opbridge.base.errors import InputError

_OF_NUMBERS = (VALUES, AGAIN, GRADIENTS)
"""The checks in which an answer may rely on the numbers that its task draws."""
_OF_CALLS = (AGAIN, STATE, WEIGHTS, MODE, MODELS)
"""The checks of what one size alone is called for: other sizes, though right at first, would fail too."""
_OF_ANY_NUMBERS = ("bad-launch", "shared-size", "out-of-bounds", "misaligned")
"""The twin findings that do not depend on numbers, so that zeros show them too."""
_TO_REPORT = "leave reports to the judge's worker: an answer only returns outputs"
_CONSTANT = Reason(
    "constant",
    "the task's output is the same for all inputs of its published sizes, so any constant would be right",
    "do not learn from it what answers are worth",
)


def decide(
    run: Run,
    trials: tuple[Trial, ...],
    expected: Path,
    folder: Path,
    left_out: tuple[str, ...],
    policy: str = KERNELS,
) -> Judgement:
    """Return the verdict of an answer whose process has ended or reported all trials.

    `expected` and `folder` have the outputs of the reference and of the answer; `left_out` says which sizes were
    not tried; `policy` states which operators count as work.
    """
    found = _decided(run, trials, expected, folder, left_out, policy)
    called = tuple(trial for trial in trials if trial.number in run.ran)
    published = WHOLE if _any(called, PUBLISHED) else NOT_RUN
    is_right = found.verdict is Verdict.RIGHT
    shares = tuple(shares_of(run, trials, expected, folder, is_right=is_right and not found.reasons).items())
    work = work_of(run, trials) if is_right else None
    return replace(found, published=published, compiled=run.built, shares=shares, work=work)


def _decided(
    run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, left_out: tuple[str, ...], policy: str
) -> Judgement:
    shapes = tuple(dict.fromkeys(trial.inputs for trial in trials if trial.number in run.ran))
    if run.tampering:
        return Judgement(Verdict.CHEATING, tuple(Reason(**reason) for reason in run.tampering), shapes=shapes)
    if run.nonsense:
        return Judgement(Verdict.BROKEN, (Reason("protocol", run.nonsense, _TO_REPORT),), shapes=shapes)
    if run.done and (damage := _damage_of_records(run, trials)):
        reason = Reason("judge", damage, "leave the records of the twin alone")
        return Judgement(Verdict.CHEATING, (reason,), shapes=shapes)
    if run.raised is not None:
        return of_error(run.raised, None, shapes)
    if not run.done:
        return of_end(run, trials, shapes)
    not_held = Reason(SIZES, "; ".join(left_out), f"{ON_GPU}, or write the task's sizes at its top")
    if not trials:
        return Judgement(Verdict.UNDECIDED, (not_held,))
    weighed = [(trial, held(run, trial, expected, folder)) for trial in trials]
    good = {trial.number for trial, found in weighed if found is None}
    if suspicion := cheating(run, trials, expected, folder, good, policy):
        return Judgement(Verdict.CHEATING, (suspicion,), shapes=shapes)
    bad = [(trial, found) for trial, found in weighed if found is not None]
    for_numbers = _shown_by_large_numbers(bad)
    if found := next((found for _, found in for_numbers if found.reasons[0].check not in _OF_NUMBERS), None):
        return Judgement(found.verdict, found.reasons, shapes=shapes)
    bad = [each for each in bad if each not in for_numbers]
    if not bad and all(trial.only_refutes for trial in trials):
        return Judgement(Verdict.UNDECIDED, (not_held,), shapes=shapes)
    if not bad:
        holds_for = ALL_SHAPES if any(trial.plan.is_odd for trial in trials) else PUBLISHED_SHAPES
        holds_for = holds_for if _any(trials, PUBLISHED) else TRIED_SHAPES
        notes: tuple[Reason, ...] = (_CONSTANT,) if all(trial.is_constant for trial in trials) else ()
        if for_numbers:
            notes, holds_for = for_numbers[0][1].reasons, PUBLISHED_NUMBERS
        return Judgement(Verdict.RIGHT, notes, holds_for, shapes)
    of_calls = (found for trial, found in bad if not trial.plan.is_odd and found.reasons[0].check in _OF_CALLS)
    if found := next(of_calls, None):
        return Judgement(found.verdict, found.reasons, shapes=shapes)
    right = tuple(trial for trial, found in weighed if found is None)
    wrong = tuple(trial for trial, _ in bad)
    if right and (all(trial.plan.is_odd for trial in wrong) or _holds_as_published(right, wrong)):
        return Judgement(Verdict.RIGHT, bad[0][1].reasons, PUBLISHED_SHAPES, shapes)
    trial, first = next(((trial, found) for trial, found in bad if not trial.plan.is_odd), bad[0])
    if (trial.plan.is_relied_on or trial.plan.is_odd) and first.reasons[0].check not in OF_NO_SIZE:
        message = f"it may rely on the sizes that its task publishes ({'; '.join(left_out)})"
        return Judgement(Verdict.UNDECIDED, (*first.reasons, Reason(SIZES, message, ON_GPU)), shapes=shapes)
    return Judgement(first.verdict, first.reasons, shapes=shapes)


def _damage_of_records(run: Run, trials: tuple[Trial, ...]) -> str:
    """Return what is wrong with the records of the twin; empty if nothing is."""
    if run.records is None:
        return ""
    if run.records.is_damaged:
        return "it writes to the records of the twin"
    if any(call.is_deaf for call in run.records.calls):
        return "it keeps operators from the records of the twin"
    is_whole = all(
        _calls_recorded(run.records, trial) == run.ran[trial.number]["calls"]
        for trial in trials
        if trial.number in run.ran
    )
    return "" if is_whole else "it keeps calls from the records of the twin"


def _calls_recorded(records: Records, trial: Trial) -> int:
    return len(records.named(trial.record)) + len(records.named(trial.writes_record))


def _shown_by_large_numbers(bad: list[tuple[Trial, Judgement]]) -> list[tuple[Trial, Judgement]]:
    """Return the failures where other numbers are right at the same sizes, so that the sizes are not the cause."""
    fails_for_sizes = [trial.plan for trial, _ in bad if trial.numbers != LARGE]
    return [(trial, found) for trial, found in bad if trial.plan not in fails_for_sizes]


def wants_published_sizes(found: Judgement) -> bool:
    """Return whether a call at the published sizes, without computing, may change the judgement."""
    return found.verdict in (Verdict.RIGHT, Verdict.UNDECIDED)


def at_published_sizes(found: Judgement, run: Run, trial: Trial | None, expected: Path, folder: Path) -> Judgement:
    """Return the judgement, or what the call at the published sizes shows if they are too large to compute."""
    if trial is None or not wants_published_sizes(found):
        return found
    if run.vast is not None:
        seen = of_error(run.vast, trial, found.shapes)
        return seen if seen.reasons[0].check in _OF_ANY_NUMBERS else found
    try:
        wanted = load(expected / trial.exact_file)
        sizes = difference_of_sizes(load_as(folder / trial.output_file, wanted), wanted)
    except InputError:
        return found  # the sizes depend on numbers, or the time was too short
    if sizes is None:
        return replace(found, published=SIZES_ALONE)
    return Judgement(Verdict.WRONG, (reason_at(trial, SHAPE, sizes.message, sizes.to_do),), shapes=found.shapes)


def _holds_as_published(right: tuple[Trial, ...], wrong: tuple[Trial, ...]) -> bool:
    return _any(right, PUBLISHED) and not _any(wrong, PUBLISHED)


def _any(trials: tuple[Trial, ...], kind: str) -> bool:
    return any(trial.plan.kind == kind for trial in trials)
