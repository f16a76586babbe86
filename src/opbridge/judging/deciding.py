"""One judgement, from a task and an answer to the verdict."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbridge.check.child import NO_ANSWER, Child
from opbridge.check.forking import Forks
from opbridge.errors import InputError, ToolchainError, UnsupportedError
from opbridge.judging.answer_texts import has_gradients, imports
from opbridge.judging.confining import Cell, hand_on, private_folder
from opbridge.judging.formats import TaskFormat, format_of, settings_of
from opbridge.judging.jobs import AnswerJob, ReferenceJob, Trial
from opbridge.judging.model import Judgement, Reason, Verdict
from opbridge.judging.shapes import Plan, plans, sizes_at_the_top, sizes_by_default
from opbridge.judging.submissions import LARGEST_SOURCE
from opbridge.judging.tampering import written
from opbridge.judging.warming import NO_DEVICE, prepared
from opbridge.judging.weighing import Run, decide
from opbridge.openings import read_file

_OF_REFERENCE, _OF_ANSWER = "reference", "answer"
"""Folders."""
_REFERENCE, _ANSWER = "opbridge.judging.reference_worker", "opbridge.judging.answer_worker"


def judge(
    reference: str | os.PathLike[str], answer: str | os.PathLike[str], *, seed: int = 0, timeout: float = 60.0
) -> Judgement:
    """Whether the answer does what the reference does; `timeout` is of building it, and of each of its calls."""
    with prepared() as forks:
        return judge_by(forks, Path(reference), Path(answer), seed, timeout)


def judge_by(forks: Forks, reference: Path, answer: Path, seed: int, timeout: float) -> Judgement:
    """The same, where several answers share what is prepared."""
    started = time.perf_counter()
    task = Path(os.path.abspath(reference))
    form = format_of(task)
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        found = _judged(forks, task, form, Path(os.path.abspath(answer)), Path(folder), seed, timeout)
    return replace(found, seconds=round(time.perf_counter() - started, 1))


def _judged(
    forks: Forks, task: Path, form: TaskFormat, answer: Path, folder: Path, seed: int, timeout: float
) -> Judgement:
    source = _source(answer)
    if not form.hands_functions and (seen := _of_the_text(source, answer.name)):
        return seen
    _build_libraries(source)
    text = task.read_text(encoding="utf-8")
    seeds = (seed + 1, seed + 2)
    sizes = _sizes(form, task, text)
    job = ReferenceJob(task, form, folder / _OF_REFERENCE, tuple(plans(sizes, source)), seeds, has_gradients(source))
    found = _round(forks, job, answer, _rooms(folder), timeout)
    if not found.wants_larger_sizes:
        return found
    shutil.rmtree(job.folder)  # the answer, which runs once more, must not find what should come of it
    job = replace(job, folder=folder / "larger" / _OF_REFERENCE, is_patient=True)
    later_folder = _rooms(folder / "larger")
    hand_on(folder / _OF_ANSWER, later_folder / _OF_ANSWER)  # so that it is not built again
    try:
        later = _round(forks, job, answer, later_folder, timeout)
    except ToolchainError:
        return found  # this machine has less than the larger sizes take
    return found if later.verdict is Verdict.UNDECIDED else later


def _rooms(folder: Path) -> Path:
    """With one for each of the two."""
    for name in (_OF_REFERENCE, _OF_ANSWER):
        (folder / name).mkdir(mode=0o700, parents=True)
    return folder


def _round(forks: Forks, job: ReferenceJob, answer: Path, folder: Path, timeout: float) -> Judgement:
    of_answer = folder / _OF_ANSWER
    with ThreadPoolExecutor(1) as beside:
        expecting = beside.submit(_expected, job, timeout, forks)
        run, (trials, left_out) = _ran(job, answer, expecting, of_answer, timeout, forks)
    return decide(run, trials, job.folder, of_answer, answer.name, tuple(left_out))


def _build_libraries(source: str) -> None:
    """Here, since what an answer builds is there for nobody else, and these take longer than most answers."""
    from opbridge.extensions.requests import libraries_called
    from opbridge.toolchains import cuda_twin

    for name in libraries_called(source):
        cuda_twin.library(name)


def _of_the_text(source: str, name: str) -> Judgement | None:
    """What needs no run to be said of an answer in Python."""
    try:
        looks = written(source, name)
    except (SyntaxError, ValueError) as error:
        place = f"{name}:{getattr(error, 'lineno', None) or 1}"
        return Judgement(Verdict.BROKEN, (Reason("python", f"it is not Python: {error}", "correct it", place),))
    if looks:
        return Judgement(Verdict.CHEATING, tuple(looks))
    if imports(source, "triton"):
        reason = Reason("triton", "its kernels are Triton's, which no twin runs", "write them in CUDA, or use a GPU")
        return Judgement(Verdict.UNDECIDED, (reason,))
    return None


def _sizes(form: TaskFormat, task: Path, text: str) -> dict[str, object]:
    """As they are published."""
    if not form.hands_functions:
        return sizes_at_the_top(text)
    settings = {**sizes_by_default(text), **settings_of(task)}
    return {name: size for name, size in settings.items() if type(size) is int and size > 0}


def _source(answer: Path) -> str:
    try:
        content = read_file(answer, limit=LARGEST_SOURCE + 1)
    except OSError as error:
        raise InputError(f"{answer}: {error.strerror}", hint="it is the answer to judge") from None
    if len(content) > LARGEST_SOURCE:
        raise InputError(f"{answer} is larger than {LARGEST_SOURCE >> 20} MiB")
    return content.decode("utf-8", errors="replace")


_Expected = tuple[tuple[Trial, ...], list[str]]


def _expected(job: ReferenceJob, timeout: float, forks: Forks) -> _Expected:
    trials: list[Trial] = []
    left_out: list[str] = []
    with Child(_REFERENCE, [job], NO_DEVICE, timeout, forks.start) as child:
        done = False
        for said in child.messages():
            done |= "done" in said
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "bad_task" in said:
                raise InputError(f"{job.reference} is a bad task: {said['bad_task']}")
            if "left_out" in said:
                left_out.append(f"{said['left_out'][0]}: {said['left_out'][1]}")
            if "trial" in said:
                trials.append(_trial(said["trial"], job.plans))
        how = child.end()
        if not trials and how.startswith(NO_ANSWER):
            left_out.append(f"the reference gives {how}")
        elif not done and not trials:
            raise ToolchainError(f"the process of the reference ends early: {how}\n{child.log()[-2000:]}")
    return tuple(trials), left_out


def _trial(said: dict[str, Any], known: tuple[Plan, ...]) -> Trial:
    return Trial(said["number"], known[said["plan"]], said["seed"], said["inputs"], tuple(said["operators"]))


def _ran(
    job: ReferenceJob, answer: Path, expecting: Future[_Expected], folder: Path, timeout: float, forks: Forks
) -> tuple[Run, _Expected]:
    """The answer is built while the reference runs."""
    from opbridge.cache import Cache

    own = folder / answer.name
    shutil.copyfile(answer, own)
    cell = Cell(folder, Cache().root, (job.reference, answer), private_folder())
    run = Run()
    to_do = AnswerJob(own, job.format.answer, job.seeds[0], job.with_gradients, cell)
    with Child(_ANSWER, [to_do], {}, timeout, forks.start, is_told_more=True) as child:
        for said in child.messages():
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "built" in said:
                child.tell(_given(job, expecting.result()[0], folder))
            run.hear(said)
        run.end = child.end()
        run.log = child.log()
        run.timed_out = run.end.startswith(NO_ANSWER)
    if run.at == "starting":
        raise ToolchainError(f"the process of the answer ends before it: {run.end}\n{run.log[-2000:]}")
    return run, expecting.result()


def _given(job: ReferenceJob, trials: tuple[Trial, ...], folder: Path) -> tuple[Trial, ...]:
    """What the answer may know of the trials."""
    for trial in trials:
        for name in (trial.initial_file, trial.inputs_file):
            shutil.copyfile(job.folder / name, folder / name)
    return tuple(replace(trial, operators=()) for trial in trials)
