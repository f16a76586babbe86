"""Decide what to judge again at other sizes, and combine both judgements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from opbridge.analysis.judge.judgement import (
    ENDLESS,
    MODE,
    MODELS,
    PUBLISHED_SHAPES,
    SHAPE,
    STATE,
    WEIGHTS,
    Judgement,
    Verdict,
)
from opbridge.analysis.judge.process.jobs import ReferenceJob
from opbridge.analysis.judge.task.shapes import KEPT, LOOSE, PUBLISHED, Plan, smallest_first
from opbridge.analysis.judge.verdict.compare_calls import OUTPUTS, PARAMETERS
from opbridge.analysis.judge.verdict.failures import PROGRAM

OF_NO_SIZE = (PARAMETERS, PROGRAM, OUTPUTS, STATE, WEIGHTS, MODE, MODELS)
"""The checks whose failures no size can explain."""


@dataclass(frozen=True)
class Round:
    """A second judgement at other sizes."""

    job: ReferenceJob
    settled: Callable[[Judgement, Judgement], Judgement]
    """Combines the first judgement and the later one."""


def another(found: Judgement, tried: list[Plan], job: ReferenceJob, published: dict[str, object]) -> Round | None:
    """Return the round to judge next; None if the judgement is final."""
    loose = (plan for plan in job.plans if plan.kind == LOOSE and plan not in tried)
    if found.wants_smaller_sizes:
        smaller = tuple(smallest_first(loose, published))
        return Round(replace(job, plans=smaller), _at_smaller_sizes) if smaller else None
    if found.wants_larger_sizes:
        return Round(replace(job, is_patient=True), _at_larger_sizes)
    # It is too large to compute; a call without computing shows whether its sizes are possible.
    published_plan = tuple(plan for plan in job.plans if plan.kind == PUBLISHED)
    kept = tuple(plan for plan in job.plans if plan.kind == KEPT and plan not in tried)
    if (
        kept
        and tried
        and _fails(found)
        and all(plan.loses_numbers or plan.is_long for plan in tried if not plan.is_odd)
    ):
        return Round(replace(job, plans=(*kept, *published_plan)), _where_numbers_stay)
    larger = tuple(plan for plan in job.plans if plan.is_last_resort)
    if larger and _fails_where_numbers_are_lost(found, tried):
        return Round(replace(job, plans=(*larger, *published_plan)), _where_numbers_stay)
    return None


def _loses_numbers(tried: list[Plan]) -> bool:
    """Return whether none of the tried sizes has all divisors of the published ones that the answer names."""
    return bool(tried) and all(plan.loses_numbers or plan.is_long for plan in tried if not plan.is_odd)


def _fails(found: Judgement) -> bool:
    """Return whether an answer fails in a way that its sizes may explain."""
    is_bad = found.verdict in (Verdict.WRONG, Verdict.BROKEN)
    return is_bad and found.reasons[0].check not in (*OF_NO_SIZE, SHAPE)


def _fails_where_numbers_are_lost(found: Judgement, tried: list[Plan]) -> bool:
    return _fails(found) and {LOOSE} == {plan.kind for plan in tried if not plan.is_odd}


def _at_smaller_sizes(found: Judgement, later: Judgement) -> Judgement:
    if later.wants_smaller_sizes:
        # A kernel that takes as long with hardly any work never ends, whatever sizes it relies on.
        is_endless = later.reasons[0].check == ENDLESS
        return replace(later, verdict=Verdict.WRONG, reasons=later.reasons[:1]) if is_endless else found
    return later if later.verdict is not Verdict.UNDECIDED else replace(found, verdict=Verdict.UNDECIDED)


def _at_larger_sizes(found: Judgement, later: Judgement) -> Judgement:
    return found if later.verdict is Verdict.UNDECIDED else later


def _where_numbers_stay(found: Judgement, later: Judgement) -> Judgement:
    if later.verdict is Verdict.RIGHT:
        return replace(later, reasons=found.reasons, holds_for=PUBLISHED_SHAPES)
    return _at_larger_sizes(found, later)
