"""Detect outputs that are right but were not computed by the kernels of the answer."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

from opbridge.analysis.judge.judgement import Reason
from opbridge.analysis.judge.process.jobs import Trial, telling
from opbridge.analysis.judge.process.run_record import Run, reason_at
from opbridge.analysis.judge.values import arrays_of, load, load_as
from opbridge.analysis.judge.verdict.differences import difference, is_near, same_bits
from opbridge.base.errors import InputError

_MOST_OF_OTHERS = 80 << 20
"""The most bytes that are read of what operators returned."""


def cheating(run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    """Return why right outputs are not the work of the kernels of the answer; None if there is no suspicion."""
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
    if first.number in good and _is_computed_by_others(first, exact, rounded, expected, folder):
        message = "PyTorch, or the host, computes the output also when its kernels do nothing: they only move it"
        return reason_at(first, "kernels", message, "compute the values of the reference in a kernel")
    return _remembered(trials, expected, folder, good)


def _is_computed_by_others(trial: Trial, exact: object, rounded: object, expected: Path, folder: Path) -> bool:
    """Return whether an operator returned the right output while kernels did nothing, and it is no input."""
    try:
        results = arrays_of(load(folder / trial.others_file, most=_MOST_OF_OTHERS))
    except InputError:
        return False  # the call without kernels ended before it ran an operator
    given = arrays_of(load(expected / trial.inputs_file))
    outputs = list(zip(arrays_of(exact), arrays_of(rounded), strict=True))
    outputs = [pair for pair in outputs if not any(is_near(one, *pair) for one in given)]
    return bool(outputs) and all(any(is_near(one, *pair) for one in results) for pair in outputs)


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
