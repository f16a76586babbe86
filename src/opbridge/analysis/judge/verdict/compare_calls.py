"""Compare one call of an answer with the reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from opbridge.analysis.judge.judgement import (
    AGAIN,
    GRADIENTS,
    MODE,
    MODELS,
    SHAPE,
    STATE,
    VALUES,
    WEIGHTS,
    Judgement,
    Reason,
    Verdict,
)
from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.run_record import Run, reason_at
from opbridge.analysis.judge.values import bytes_of, load, load_as
from opbridge.analysis.judge.verdict.differences import (
    difference,
    difference_of_gradients,
    difference_of_state,
    drawn_otherwise,
    same_bits,
    share_of_right,
)
from opbridge.analysis.judge.verdict.failures import of_error
from opbridge.analysis.judge.verdict.structures import Difference
from opbridge.base.errors import InputError

PARAMETERS, OUTPUTS = "parameters", "outputs"
"""The checks for parameters drawn differently, and for the kind of outputs, whatever their sizes and numbers."""
_FEW = 1 << 20
"""Bytes of parameters and gradients that the reference does not have, in addition to as many as it has."""
_OF_OTHER_CALLS = {
    WEIGHTS: ("after its weights changed in place", "read the weights in each call, or notice that they changed"),
    MODE: ("after `eval()`, or after `train()` if the task is in eval()", "compute what the reference does in both"),
    MODELS: ("next to a second model with other weights", "keep what depends on weights in the model alone"),
}
"""How reasons for other calls begin, and what to do."""
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
    if later := _of_later_calls(trial, exact, rounded, expected, folder):
        return later
    if not _stays(trial, output, folder):
        message = "its output changes when it is called with other inputs: both outputs are in the same memory"
        return Judgement(Verdict.WRONG, (reason_at(trial, AGAIN, message, "return new memory from each call"),))
    if not trial.only_refutes and (found := _of_gradients(trial, expected, folder)):
        return Judgement(Verdict.WRONG, (reason_at(trial, GRADIENTS, found.message, found.to_do),))
    return None


def shares_of(run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, *, is_right: bool) -> dict[str, float]:
    """Return the part of the elements that are right, by the inputs; the least for inputs of the same sizes.

    Outputs of other structures, types or shapes have none, and neither have calls that failed. With `is_right`, every
    call has been found right, and nothing is compared again.
    """
    found: dict[str, float] = {}
    for trial in trials:
        share = 1.0 if is_right else _share(trial, expected, folder) if trial.number in run.ran else 0.0
        found[trial.inputs] = min(share, found.get(trial.inputs, 1.0))
    return found


def _share(trial: Trial, expected: Path, folder: Path) -> float:
    exact, rounded = load(expected / trial.exact_file), load(expected / trial.rounded_file)
    return share_of_right(_output(folder / trial.output_file, rounded), exact, rounded)


def _of_later_calls(trial: Trial, exact: object, rounded: object, expected: Path, folder: Path) -> Judgement | None:
    """Return what is wrong with the state after calls, with the fiftieth call, and with one after weights changed."""
    if trial.only_refutes or not (folder / trial.state_file).exists():
        return None
    for check, found in _later_differences(trial, exact, rounded, expected, folder):
        if found:
            return Judgement(Verdict.WRONG, (reason_at(trial, check, found.message, found.to_do),))
    return None


def _later_differences(
    trial: Trial, exact: object, rounded: object, expected: Path, folder: Path
) -> Iterator[tuple[str, Difference | None]]:
    yield AGAIN, _of_fiftieth(trial, exact, rounded, folder)
    yield AGAIN, _of_elsewhere(trial, exact, rounded, folder)
    yield STATE, _of_state(trial, expected, folder)
    for check in _OF_OTHER_CALLS:
        yield check, _of_other_call(check, trial, expected, folder)


def _of_fiftieth(trial: Trial, exact: object, rounded: object, folder: Path) -> Difference | None:
    *earlier, last = trial.later_files
    for name, which in (*((each, "again and again") for each in earlier), (last, "for the fiftieth time")):
        if not (folder / name).exists():
            continue  # calls are not so short, or none differs
        if found := difference(_output(folder / name, rounded), exact, rounded):
            return Difference(f"called {which}, {found.message}", found.to_do)
    return None


def _of_elsewhere(trial: Trial, exact: object, rounded: object, folder: Path) -> Difference | None:
    if not (folder / trial.elsewhere_file).exists():
        return None  # the first calls, in which it had no error, count
    found = difference(_output(folder / trial.elsewhere_file, rounded), exact, rounded)
    to_do = "read the inputs of each call, and compute the same in training"
    return found and Difference(f"with the same inputs in other memory, with gradients, {found.message}", to_do)


def _of_state(trial: Trial, expected: Path, folder: Path) -> Difference | None:
    """Compare the buffers and parameters that have the names, types and shapes of the reference's."""
    if not (expected / f"{trial.state_file}.exact").exists():
        return None
    exact, rounded = (load(expected / f"{trial.state_file}.{kind}") for kind in ("exact", "rounded"))
    try:
        given = load(folder / trial.state_file, most=2 * bytes_of(rounded) + _FEW)
    except InputError:
        return None  # an answer may keep more than the reference does
    return difference_of_state(given, exact, rounded)


def _of_other_call(check: str, trial: Trial, expected: Path, folder: Path) -> Difference | None:
    """Compare what one of OTHER_CALLS returns, if the answer has the weights of the reference."""
    name = trial.other_file(check)
    if not (expected / f"{name}.exact").exists() or not _has_weights_of_reference(trial, expected, folder):
        return None
    told, to_do = _OF_OTHER_CALLS[check]
    if not (folder / name).exists():
        return Difference(f"{told}, it ends with an error, and the reference does not", to_do)
    exact, rounded = (load(expected / f"{name}.{kind}") for kind in ("exact", "rounded"))
    found = difference(_output(folder / name, rounded), exact, rounded)
    return found and Difference(f"{told}, {found.message}", to_do)


def _has_weights_of_reference(trial: Trial, expected: Path, folder: Path) -> bool:
    wanted = load(expected / trial.parameters_file)
    try:
        return same_bits(load_as(folder / trial.parameters_file, wanted), wanted)
    except InputError:
        return False


def _output(path: Path, wanted: object) -> object:
    """Return an output; None, which the reference never returns, if the file is missing or cannot be read."""
    try:
        return load_as(path, wanted)
    except InputError:
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
