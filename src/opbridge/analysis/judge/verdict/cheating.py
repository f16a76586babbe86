"""Detect outputs that are right but were not computed by the kernels of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from opbridge.analysis.judge.answer.submissions import KERNELS
from opbridge.analysis.judge.judgement import Reason
from opbridge.analysis.judge.process.jobs import Trial, telling
from opbridge.analysis.judge.process.record_channel import Records, Write
from opbridge.analysis.judge.process.run_record import Run, reason_at
from opbridge.analysis.judge.values import Array, arrays_of, load, load_as
from opbridge.analysis.judge.verdict.differences import difference, is_near
from opbridge.analysis.judge.verdict.kept_results import (
    IN_A_KERNEL,
    by_host,
    is_kept,
    launches_less,
    of_earlier_inputs,
)
from opbridge.analysis.judge.verdict.write_record import (
    Output,
    arrays_written,
    is_one_step_from,
    is_only_moved,
)
from opbridge.base.errors import InputError

_MOST_OF_OTHERS = 80 << 20
"""The most bytes that are read of what operators returned."""


def cheating(
    run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int], policy: str
) -> Reason | None:
    """Return why right outputs are not the work of an answer, or not that of its kernels; None if there is no doubt."""
    by_others = _by_others(run, trials, expected, folder, good) if policy == KERNELS else None
    if by_others or telling(trials).is_constant:
        return by_others
    return of_earlier_inputs(trials, expected, folder, good)


def _by_others(run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    """Return why right outputs are not the work of kernels; None if they may be."""
    if found := next(filter(None, (_by_operators(run, trial) for trial in trials if trial.number in good)), None):
        return found
    right = [trial for trial in trials if trial.number in good]
    records = run.records or Records()
    ways = (launches_less(records, trials, good), by_host(records, right, expected), is_kept(right, folder))
    if found := next(filter(None, ways), None):
        return found
    first = telling(trials)
    if first.is_constant or first.number not in good:
        return None  # a constant output can be right without any kernel
    case = _Case.of(run, first, expected, folder)
    for is_so, check, message in _WAYS:
        if is_so(case):
            return reason_at(first, check, message, IN_A_KERNEL)
    return None


def _by_operators(run: Run, trial: Trial) -> Reason | None:
    operators = run.ran[trial.number]["operators"] if trial.number in run.ran else []
    if not trial.operators or not operators or Counter(trial.operators) - Counter(operators):
        return None
    names = ", ".join(dict.fromkeys(trial.operators))
    message = f"every operator of the reference ({names}) is PyTorch's here too: no kernel replaces any of them"
    return reason_at(trial, "operators", message, IN_A_KERNEL)


@dataclass(frozen=True)
class _Case:
    """What is known of the calls that show the most: the first one, and one while kernels did nothing."""

    trial: Trial
    records: Records
    outputs: list[Output]
    """The right outputs that memory does not have by chance."""
    given: list[Array]
    results: list[Array]
    """What operators returned while kernels did nothing."""
    was_muted: bool
    is_right_muted: bool

    @classmethod
    def of(cls, run: Run, trial: Trial, expected: Path, folder: Path) -> _Case:
        exact, rounded = load(expected / trial.exact_file), load(expected / trial.rounded_file)
        given = arrays_of(load(expected / trial.inputs_file))
        pairs = map(Output, arrays_of(exact), arrays_of(rounded))
        outputs = [
            one for one in pairs if one.is_telling and not any(is_near(each, one.exact, one.rounded) for each in given)
        ]
        is_right = run.muted and _is_right(folder / trial.muted_file, exact, rounded)
        return cls(trial, run.records or Records(), outputs, given, _results(trial, folder), run.muted, is_right)

    def writes(self, record: str) -> list[Write]:
        """Return what was written to memory in a record."""
        return [write for found in self.records.named(record) for write in found.writes]


def _is_right(file: Path, exact: object, rounded: object) -> bool:
    try:
        return difference(load_as(file, rounded), exact, rounded) is None
    except InputError:
        return False


def _results(trial: Trial, folder: Path) -> list[Array]:
    try:
        return arrays_of(load(folder / trial.others_file, most=_MOST_OF_OTHERS))
    except InputError:
        return []  # the call without kernels ended before it ran an operator


def _is_computed_without_kernels(case: _Case) -> bool:
    """Return whether the right outputs were there while kernels did nothing."""
    muted = case.writes(case.trial.muted_record)
    return bool(case.outputs) and all(
        any(is_near(one, output.exact, output.rounded) for one in case.results) or any(map(output.is_in, muted))
        for output in case.outputs
    )


def _is_moved(case: _Case) -> bool:
    first = case.writes(case.trial.writes_record)
    return bool(case.outputs) and all(is_only_moved(one, first) for one in case.outputs)


def _is_ended(case: _Case) -> bool:
    """Return whether kernels only do a last step of each element, which is at most half of the work."""
    is_little = 2 * sum(one.count for one in case.outputs) <= case.trial.operations
    return (
        is_little
        and bool(case.outputs)
        and all(
            is_one_step_from(one, [*case.results, *_written_by_others(case, one)], case.given) for one in case.outputs
        )
    )


def _written_by_others(case: _Case, output: Output) -> list[Array]:
    """Return what others wrote without kernels; of an answer that fails without them, what they wrote before."""
    if case.was_muted:
        return arrays_written(output, case.writes(case.trial.muted_record))
    first = case.writes(case.trial.writes_record)
    return arrays_written(output, list(takewhile(lambda one: not (one.is_by_kernel and output.read_from(one)), first)))


_WAYS: tuple[tuple[Callable[[_Case], bool], str, str], ...] = (
    (
        lambda case: case.is_right_muted,
        "kernels",
        "the output is right also when its kernels do nothing: they are not what computes it",
    ),
    (
        _is_computed_without_kernels,
        "kernels",
        "PyTorch, or the host, computes the output also when its kernels do nothing: they only move it",
    ),
    (_is_moved, "kernels", "its kernels only move the output, which is in memory before they run"),
    (
        _is_ended,
        "kernels",
        "PyTorch, or the host, computes all but a last step of the output, which takes each element by itself",
    ),
)
"""How others may have computed an output: whether they did, the check, and the message."""
