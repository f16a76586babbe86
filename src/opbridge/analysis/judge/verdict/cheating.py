"""Detect outputs that are right but were not computed by the kernels of the answer."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

from opbridge.analysis.judge.answer.submissions import KERNELS
from opbridge.analysis.judge.judgement import Reason
from opbridge.analysis.judge.process.jobs import Trial, telling
from opbridge.analysis.judge.process.run_record import Run, reason_at
from opbridge.analysis.judge.values import arrays_of, load, load_as
from opbridge.analysis.judge.verdict.differences import difference, is_near, same_bits
from opbridge.analysis.judge.verdict.write_record import Output, is_only_moved, writes_in
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
    return _remembered(trials, expected, folder, good)


def _by_others(run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    """Return why right outputs are not the work of kernels; None if they may be."""
    for trial in trials:
        if trial.number not in good or not trial.operators or trial.number not in run.ran:
            continue
        operators = run.ran[trial.number]["operators"]
        if operators and not Counter(trial.operators) - Counter(operators):
            return reason_at(
                trial,
                "operators",
                f"every operator of the reference ({', '.join(dict.fromkeys(trial.operators))}) is PyTorch's here too: "
                "no kernel replaces any of them",
                "compute the values of the reference in a kernel",
            )
    first = telling(trials)
    if first.is_constant:
        return None  # a constant output can be right without any kernel
    exact, rounded = load(expected / first.exact_file), load(expected / first.rounded_file)
    if run.muted and first.number in good:
        try:
            muted = load_as(folder / first.muted_file, rounded)
        except InputError:
            muted = None
        if muted is not None and difference(muted, exact, rounded) is None:
            message = "the output is right also when its kernels do nothing: they are not what computes it"
            return reason_at(first, "kernels", message, "compute the values of the reference in a kernel")
    if first.number not in good:
        return None
    given = arrays_of(load(expected / first.inputs_file))
    pairs = map(Output, arrays_of(exact), arrays_of(rounded))
    outputs = [
        one for one in pairs if one.is_telling and not any(is_near(each, one.exact, one.rounded) for each in given)
    ]
    if _is_computed_by_others(first, outputs, folder):
        message = "PyTorch, or the host, computes the output also when its kernels do nothing: they only move it"
        return reason_at(first, "kernels", message, "compute the values of the reference in a kernel")
    writes = writes_in(folder / first.writes_file)
    if outputs and all(is_only_moved(one, writes) for one in outputs):
        message = "its kernels only move the output, which is in memory before they run"
        return reason_at(first, "kernels", message, "compute the values of the reference in a kernel")
    return None


def _is_computed_by_others(trial: Trial, outputs: list[Output], folder: Path) -> bool:
    """Return whether the right outputs were there while kernels did nothing."""
    try:
        results = arrays_of(load(folder / trial.others_file, most=_MOST_OF_OTHERS))
    except InputError:
        results = []  # the call without kernels ended before it ran an operator
    writes = writes_in(folder / trial.muted_writes_file)
    return bool(outputs) and all(
        any(is_near(one, output.exact, output.rounded) for one in results) or any(map(output.is_in, writes))
        for output in outputs
    )


def _remembered(trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    """Return a reason if an output repeats the output for earlier inputs."""
    for before, trial in pairwise(trials):
        if before.number not in good or trial.number in good or before.plan != trial.plan:
            continue
        try:
            wanted = [load(expected / each.rounded_file) for each in (before, trial)]
            one, other = (
                load_as(folder / each.output_file, right) for each, right in zip((before, trial), wanted, strict=True)
            )
        except InputError:
            continue
        differs = not same_bits(*wanted)
        if arrays_of(one) and same_bits(one, other) and differs:
            message = "it returns its result for earlier inputs of these sizes"
            return reason_at(trial, "cache", message, "compute each output from its inputs")
    return None
