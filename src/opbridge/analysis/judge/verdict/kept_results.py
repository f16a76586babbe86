"""Detect right outputs that calls do not compute: those kept from an earlier call, and those of the host."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from opbridge.analysis.judge.judgement import Reason
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.record_channel import Records
from opbridge.analysis.judge.process.run_record import reason_at
from opbridge.analysis.judge.values import Array, arrays_of, bytes_of, load, load_as
from opbridge.analysis.judge.verdict.bounds import numbers
from opbridge.analysis.judge.verdict.differences import same_bits
from opbridge.base.errors import InputError

IN_A_KERNEL = "compute the values of the reference in a kernel"
_FROM_INPUTS = "compute each output from its inputs"
_PART, _LEAST_BYTES = 4, 256
"""The part of inputs and outputs that may pass the host, as a divisor, and the bytes that always may."""
_FAR, _MUCH = 1e-2, 0.1
"""How far apart two outputs for the same inputs may be, and at how many of their elements."""
_MOST_BYTES = 80 << 20
"""The most bytes that are read of an output whose size nobody checked."""


def launches_less(records: Records, trials: tuple[Trial, ...], good: set[int]) -> Reason | None:
    """Return a reason if a call launches fewer kernels for the same inputs than the call before it for new ones.

    The first inputs of a model do not count: a model may prepare its weights in its first call.
    """
    for before, trial in pairwise(trials):
        if before.plan != trial.plan or trial.number not in good:
            continue
        calls = [*records.named(trial.writes_record), *records.named(trial.record)]
        if len(calls) > 1 and 2 * min(call.launches for call in calls[1:]) <= calls[0].launches > 0:
            message = "called again with the same inputs, it launches fewer kernels: it keeps results of earlier calls"
            return reason_at(trial, "cache", message, _FROM_INPUTS)
    return None


def by_host(records: Records, right: list[Trial], expected: Path) -> Reason | None:
    """Return a reason if calls copy inputs to the host, and from there as much as an output.

    The first call of a model does not count: it may prepare weights there.
    """
    for trial in right:
        inputs, outputs = (bytes_of(load(expected / name)) for name in (trial.inputs_file, trial.rounded_file))
        copied = any(
            call.to_host >= max(inputs / _PART, _LEAST_BYTES) and call.to_device >= outputs / _PART
            for call in records.named(trial.record)
        )
        shared = any(call.by_host >= max(outputs / _PART, _LEAST_BYTES) for call in records.named(trial.writes_record))
        if copied or shared:
            message = "it copies the inputs to the host, and from there as much as an output"
            return reason_at(trial, "host", message, IN_A_KERNEL)
    return None


def is_kept(right: list[Trial], folder: Path) -> Reason | None:
    """Return a reason if an output is another once memory has been given what it held before the first such call."""
    for trial in right:
        try:
            once = load(folder / trial.once_file, most=_MOST_BYTES)
            twice = load_as(folder / trial.twice_file, once)
        except InputError:
            continue
        if any(map(_differ_much, arrays_of(once), arrays_of(twice))):
            message = "called again with the same inputs, it returns what it kept in memory of the device"
            return reason_at(trial, "cache", message, _FROM_INPUTS)
    return None


def _differ_much(one: Array, other: Array) -> bool:
    """Return whether one number in ten differs by more than any order of adding could explain."""
    left, right = numbers(one), numbers(other)
    if not left.size:
        return False
    with np.errstate(all="ignore"):
        near = (
            np.abs(left - right) <= _FAR * (np.abs(left) + np.abs(right)) if left.dtype.kind != "b" else left == right
        )
    same = near | ((left != left) & (right != right)) | (left == right)
    return bool(same.mean() < 1 - _MUCH)


def of_earlier_inputs(trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
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
            return reason_at(trial, "cache", message, _FROM_INPUTS)
    return None
