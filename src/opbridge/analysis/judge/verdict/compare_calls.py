"""Compare one call of an answer with the reference."""

from __future__ import annotations

from pathlib import Path

from opbridge.analysis.judge.judgement import AGAIN, GRADIENTS, SHAPE, VALUES, Judgement, Reason, Verdict
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.run_record import Run, reason_at
from opbridge.analysis.judge.values import bytes_of, load, load_as
from opbridge.analysis.judge.verdict.differences import difference, difference_of_gradients, drawn_otherwise, same_bits
from opbridge.analysis.judge.verdict.failures import of_error
from opbridge.analysis.judge.verdict.structures import Difference
from opbridge.base.errors import InputError

PARAMETERS, OUTPUTS = "parameters", "outputs"
"""The checks for parameters drawn differently, and for the kind of outputs, whatever their sizes and numbers."""
_FEW = 1 << 20
"""Bytes of parameters and gradients that the reference does not have, in addition to as many as it has."""
_CLEAR = 0.01
"""The distance of a wrong constant: float32 may lose all digits of the mean of normalized values."""


def held(run: Run, trial: Trial, expected: Path, folder: Path) -> Judgement | None:
    """Return what is wrong with one call; None if nothing is."""
    if trial.number in run.failed:
        return of_error(run.failed[trial.number], trial, ())
    exact, rounded = load(expected / trial.exact_file), load(expected / trial.rounded_file)
    try:
        output, again = (load_as(folder / name, rounded) for name in (trial.output_file, trial.again_file))
    except InputError as error:
        return Judgement(Verdict.BROKEN, (reason_at(trial, OUTPUTS, str(error), "return tensors"),))
    least = _CLEAR if trial.only_refutes else 0.0
    if found := difference(output, exact, rounded, least):
        return Judgement(Verdict.WRONG, (_why(trial, found, expected, folder),))
    if changed := run.ran[trial.number]["changed"]:
        message = f"it changes its input {changed[0]}, which the reference leaves as it is"
        return Judgement(Verdict.WRONG, (reason_at(trial, "inputs", message, "write to memory of its own"),))
    if found := difference(again, exact, rounded, least):
        message = f"called again, {found.message}"
        return Judgement(Verdict.WRONG, (reason_at(trial, AGAIN, message, found.to_do),))
    if not _stays(trial, output, folder):
        message = "its output changes when it is called with other inputs: both outputs are in the same memory"
        return Judgement(Verdict.WRONG, (reason_at(trial, AGAIN, message, "return memory of its own from each call"),))
    if not trial.only_refutes and (found := _of_gradients(trial, expected, folder)):
        return Judgement(Verdict.WRONG, (reason_at(trial, GRADIENTS, found.message, found.to_do),))
    return None


def _stays(trial: Trial, output: object, folder: Path) -> bool:
    """Return whether the output is the same after a call with other inputs, if there was one."""
    try:
        return same_bits(output, load_as(folder / trial.kept_file, output))
    except InputError:
        return True


def _why(trial: Trial, found: Difference, expected: Path, folder: Path) -> Reason:
    try:
        wanted = load(expected / trial.parameters_file)
        own = load(folder / trial.parameters_file, most=2 * bytes_of(wanted) + _FEW)
    except InputError:
        own = wanted = []
    if found.is_of_numbers and drawn_otherwise(own, wanted):
        message = f"{found.message}: its parameters are drawn otherwise than the reference's, from the same seed"
        return reason_at(
            trial, PARAMETERS, message, "make them as the reference does, by the same modules in the same order"
        )
    check = OUTPUTS if found.is_of_kind else VALUES if found.is_of_numbers else SHAPE
    return reason_at(trial, check, found.message, found.to_do)


def _of_gradients(trial: Trial, expected: Path, folder: Path) -> Difference | None:
    if not (folder / trial.gradients_file).exists():
        return None
    exact, rounded = (load(expected / f"{trial.gradients_file}.{kind}") for kind in ("exact", "rounded"))
    try:
        given = load(folder / trial.gradients_file, most=2 * bytes_of(rounded) + _FEW)
    except InputError as error:
        return Difference(str(error), "return tensors")
    return difference_of_gradients(given, exact, rounded)
