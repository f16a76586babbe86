"""From what happened to a verdict."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from opbridge.errors import InputError
from opbridge.judging.comparing import (
    Difference,
    difference,
    difference_of_gradients,
    difference_of_sizes,
    drawn_otherwise,
    same_bits,
)
from opbridge.judging.jobs import Trial, telling
from opbridge.judging.model import ALL_SHAPES, PUBLISHED_SHAPES, SIZES, Judgement, Reason, Verdict
from opbridge.judging.shapes import PUBLISHED
from opbridge.judging.values import arrays_of, load

_FINDING = re.compile(r"(?:cuda|ascend)-twin: (?P<what>.*?) \[(?P<check>[\w-]+)\](?P<rest>(?:\n  .*)*)")
_WHERE = re.compile(r"([\w.-]+\.(?:cuh?|cpp|h):\d+)")
_TO_DO = re.compile(r"^  to do +(.*)", re.MULTILINE)
_ERROR_PLACE = re.compile(r"^(?:\S*/)?([^\s:]+:\d+)(?::\d+)?: (?:fatal )?error: (.*)", re.MULTILINE)
_NOT_OURS = re.compile(
    r"fatal error: (cublas|cudnn|cusparse|cusolver|curand|cufft|cutlass|cute|cub|thrust|cuda|mma|nccl|nvToolsExt"
    r"|ATen|c10|aclnnop|hccl|catlass|shmem|atb|op_plugin|lib|tiling)[\w/.]*: No such file"
    r"|not supported by the CUDA twin|CANN's own are not here"
    r"|(undefined reference to|cannot find -l|undefined symbol:) ?.?cu(blas|dnn|rand|sparse|solver|fft)"
)
_OF_PYTORCH = "a framework: "
"""Begins what the twin finds in accesses of PyTorch's own, which are no answer's."""
_ON_GPU = "judge it on a GPU or an NPU"
_PARAMETERS, _PROGRAM = "parameters", "program"
_OF_NO_SIZE = (_PARAMETERS, _PROGRAM)
"""The checks of what no size makes right."""
_OF_PROGRAMS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError")
"""What Python raises of calls that are wrong whatever the numbers are."""
_OF_ANY_NUMBERS = ("bad-launch", "shared-size", "out-of-bounds", "misaligned")
"""What the twin finds whatever the numbers are, so that zeros show it too."""
_ENDLESS = "endless"
_CONSTANT = Reason(
    "constant",
    "the task's output is the same for all inputs of its published sizes, so any constant would be right",
    "do not learn from it what answers are worth",
)
_KILLED = re.compile(r"\S+ \S+ (did not finish: .*|took too long and was ended)")


@dataclass
class Run:
    """What the answer's process said, and how it ended."""

    built: bool = False
    raised: dict[str, Any] | None = None
    ran: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, dict[str, Any]] = field(default_factory=dict)
    tampering: list[dict[str, Any]] = field(default_factory=list)
    muted: bool = False
    vast: dict[str, Any] | None = None
    """What a call at sizes that are too large raised."""
    at: object = "starting"
    done: bool = False
    end: str = ""
    log: str = ""
    timed_out: bool = False

    def hear(self, said: dict[str, Any]) -> None:
        self.at = said.get("begun", self.at)
        self.built |= "built" in said
        self.muted |= "muted" in said
        self.done |= "done" in said
        self.raised = said.get("raised", self.raised)
        self.vast = said.get("vast", self.vast)
        self.tampering += said.get("tampering", [])
        for kind, kept in (("ran", self.ran), ("failed", self.failed)):
            if kind in said:
                kept[said[kind]] = said


def decide(
    run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, answer: str, left_out: tuple[str, ...]
) -> Judgement:
    shapes = tuple(dict.fromkeys(trial.inputs for trial in trials if trial.number in run.ran))
    if run.tampering:
        return Judgement(Verdict.CHEATING, tuple(Reason(**reason) for reason in run.tampering), shapes=shapes)
    if run.raised is not None:
        return _of_error(run.raised, answer, None, shapes)
    if not run.done:
        return _of_end(run, trials, shapes)
    if not trials:
        reason = Reason(SIZES, "; ".join(left_out), f"{_ON_GPU}, or write the task's sizes at its top")
        return Judgement(Verdict.UNDECIDED, (reason,))
    weighed = [(trial, _weighed(run, trial, expected, folder, answer)) for trial in trials]
    if cheating := _cheating(
        run, trials, expected, folder, {trial.number for trial, found in weighed if found is None}
    ):
        return Judgement(Verdict.CHEATING, (cheating,), shapes=shapes)
    bad = [(trial, found) for trial, found in weighed if found is not None]
    if not bad:
        holds_for = ALL_SHAPES if any(trial.plan.is_odd for trial in trials) else PUBLISHED_SHAPES
        notes = (_CONSTANT,) if all(trial.is_constant for trial in trials) else ()
        return Judgement(Verdict.RIGHT, notes, holds_for, shapes)
    right = tuple(trial for trial, found in weighed if found is None)
    wrong = tuple(trial for trial, _ in bad)
    if right and (all(trial.plan.is_odd for trial in wrong) or _holds_as_published(right, wrong)):
        return Judgement(Verdict.RIGHT, bad[0][1].reasons, PUBLISHED_SHAPES, shapes)
    trial, first = next((trial, found) for trial, found in bad if not trial.plan.is_odd)
    if trial.plan.is_relied_on and first.reasons[0].check not in _OF_NO_SIZE:
        message = f"it may rely on the sizes that its task publishes ({'; '.join(left_out)})"
        return Judgement(Verdict.UNDECIDED, (*first.reasons, Reason(SIZES, message, _ON_GPU)), shapes=shapes)
    return Judgement(first.verdict, first.reasons, shapes=shapes)


def at_published_sizes(
    found: Judgement, run: Run, trial: Trial | None, expected: Path, folder: Path, answer: str
) -> Judgement:
    """The same, where nothing is to be seen at sizes that are too large to be run."""
    if trial is None or found.verdict not in (Verdict.RIGHT, Verdict.UNDECIDED):
        return found
    if run.vast is not None:
        seen = _of_error(run.vast, answer, trial, found.shapes)
        return seen if seen.reasons[0].check in _OF_ANY_NUMBERS else found
    try:
        sizes = difference_of_sizes(load(folder / trial.output_file), load(expected / trial.exact_file))
    except InputError:
        return found  # where they depend on numbers, or the time was too short
    if sizes is None:
        return found
    return Judgement(Verdict.WRONG, (_at(trial, "values", sizes.message, sizes.to_do),), shapes=found.shapes)


def _holds_as_published(right: tuple[Trial, ...], wrong: tuple[Trial, ...]) -> bool:
    return _any(right, PUBLISHED) and not _any(wrong, PUBLISHED)


def _any(trials: tuple[Trial, ...], kind: str) -> bool:
    return any(trial.plan.kind == kind for trial in trials)


def _weighed(run: Run, trial: Trial, expected: Path, folder: Path, answer: str) -> Judgement | None:
    """What is wrong with one call; None for nothing."""
    if trial.number in run.failed:
        return _of_error(run.failed[trial.number], answer, trial, ())
    exact, rounded = load(expected / trial.exact_file), load(expected / trial.rounded_file)
    try:
        output, again = load(folder / trial.output_file), load(folder / trial.again_file)
    except InputError as error:
        return Judgement(Verdict.BROKEN, (_at(trial, "outputs", str(error), "return tensors"),))
    if found := difference(output, exact, rounded):
        return Judgement(Verdict.WRONG, (_why(trial, found, expected, folder),))
    if changed := run.ran[trial.number]["changed"]:
        message = f"it changes its input {changed[0]}, which the reference leaves as it is"
        return Judgement(Verdict.WRONG, (_at(trial, "inputs", message, "write to memory of its own"),))
    if found := difference(again, exact, rounded):
        return Judgement(Verdict.WRONG, (_at(trial, "second call", f"called again, {found.message}", found.to_do),))
    if found := _of_gradients(trial, expected, folder):
        return Judgement(Verdict.WRONG, (_at(trial, "gradients", found.message, found.to_do),))
    return None


def _why(trial: Trial, found: Difference, expected: Path, folder: Path) -> Reason:
    try:
        own, wanted = (load(place / trial.parameters_file) for place in (folder, expected))
    except InputError:
        own = wanted = []
    if found.is_of_numbers and drawn_otherwise(own, wanted):
        message = f"{found.message}: its parameters are drawn otherwise than the reference's, from the same seed"
        return _at(
            trial, _PARAMETERS, message, "make them as the reference does, by the same modules in the same order"
        )
    return _at(trial, "values", found.message, found.to_do)


def _of_gradients(trial: Trial, expected: Path, folder: Path) -> Difference | None:
    if not (folder / trial.gradients_file).exists():
        return None
    try:
        given = load(folder / trial.gradients_file)
    except InputError as error:
        return Difference(str(error), "return tensors")
    exact, rounded = (load(expected / f"{trial.gradients_file}.{kind}") for kind in ("exact", "rounded"))
    return difference_of_gradients(given, exact, rounded)


def _cheating(run: Run, trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    for trial in trials:
        if trial.number not in good or not trial.operators or trial.number not in run.ran:
            continue
        operators = run.ran[trial.number]["operators"]
        if operators and not Counter(trial.operators) - Counter(operators):
            return _at(
                trial,
                "operators",
                f"every operator of the reference ({', '.join(dict.fromkeys(trial.operators))}) is PyTorch's here too: "
                "no kernel stands for any of them",
                "compute in a kernel what the reference computes",
            )
    first = telling(trials)
    if first.is_constant:
        return None  # zeros that it adds to may be right by themselves
    exact, rounded = load(expected / first.exact_file), load(expected / first.rounded_file)
    if run.muted and first.number in good:
        try:
            muted = load(folder / (first.output_file + ".muted"))
        except InputError:
            muted = None
        if muted is not None and difference(muted, exact, rounded) is None:
            message = "the output is right also when its kernels do nothing: they are not what computes it"
            return _at(first, "kernels", message, "compute in a kernel what the reference computes")
    return _remembered(trials, expected, folder, good)


def _remembered(trials: tuple[Trial, ...], expected: Path, folder: Path, good: set[int]) -> Reason | None:
    """An output of earlier inputs, given for others."""
    for before, trial in pairwise(trials):
        if before.number not in good or trial.number in good or before.plan != trial.plan:
            continue
        try:
            one, other = load(folder / before.output_file), load(folder / trial.output_file)
        except InputError:
            continue
        differs = not same_bits(load(expected / before.rounded_file), load(expected / trial.rounded_file))
        if arrays_of(one) and same_bits(one, other) and differs:
            message = "it returns what it returned for other inputs of these sizes"
            return _at(trial, "cache", message, "compute each output from its inputs")
    return None


def _at(trial: Trial, check: str, message: str, to_do: str, place: str = "") -> Reason:
    return Reason(check, message, to_do, place, trial.inputs, trial.seed)


def _of_error(error: dict[str, Any], answer: str, trial: Trial | None, shapes: tuple[str, ...]) -> Judgement:
    message = str(error["message"])
    shape, seed = (trial.inputs, trial.seed) if trial else ("", None)
    finding = _FINDING.search(message)
    if finding and finding["what"].startswith(_OF_PYTORCH):
        reason = Reason("twin", finding["what"], "judge it on a GPU: an operator of PyTorch fails on the twin's device")
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if finding and finding["check"] == _ENDLESS and trial is not None and trial.plan.may_take_long:
        reason = Reason("time", finding["what"], _ON_GPU, "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if finding:
        where, to_do = _WHERE.search(finding["rest"]), _TO_DO.search(finding["rest"])
        reason = Reason(
            finding["check"], finding["what"], to_do[1] if to_do else "", where[1] if where else "", shape, seed
        )
        return Judgement(Verdict.WRONG, (reason,), shapes=shapes)
    if _NOT_OURS.search(message):
        lines = [line for line in message.splitlines() if _NOT_OURS.search(line)]
        reason = Reason("twin", lines[0].strip(), f"{_ON_GPU}: the twin lacks this library", error["place"])
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if error.get("build") and (killed := _KILLED.search(message)):
        reason = Reason("machine", killed[0], "judge it again where there is more memory")
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if error.get("build"):
        at = _ERROR_PLACE.search(message)
        place, said = (at[1], at[2]) if at else (error["place"], message.splitlines()[0])
        return Judgement(Verdict.BROKEN, (Reason("build", f"it does not compile: {said}", "correct it", place),))
    text = f"{error['kind']}: {message.splitlines()[0]}"
    if error.get("tools"):
        reason = Reason("machine", f"our tools fail while they build it: {text}", "judge it again", error["place"])
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    check = _PROGRAM if error["kind"] in _OF_PROGRAMS else "run"
    return Judgement(Verdict.BROKEN, (Reason(check, text, "correct it", error["place"], shape, seed),), shapes=shapes)


def _of_end(run: Run, trials: tuple[Trial, ...], shapes: tuple[str, ...]) -> Judgement:
    trial = next((trial for trial in trials if trial.number == run.at), None)
    shape, seed = (trial.inputs, trial.seed) if trial else ("", None)
    how = run.end or "the process ends with exit code 0, as by exit()"
    if run.timed_out:
        reason = Reason("time", f"{how} while at {run.at}", "--timeout waits longer", "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    if how.endswith("SIGKILL"):
        reason = Reason("machine", f"{how}, as where a machine's memory ends", "judge it again", "", shape, seed)
        return Judgement(Verdict.UNDECIDED, (reason,), shapes=shapes)
    return Judgement(Verdict.BROKEN, (Reason("run", how, "correct it", "", shape, seed),), shapes=shapes)
