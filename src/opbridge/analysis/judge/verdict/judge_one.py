"""Judge one answer to a task."""

from __future__ import annotations

import os
import time
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opbridge.analysis.judge.answer.formats import AnswerFormat, answer_format
from opbridge.analysis.judge.answer.submissions import read_source
from opbridge.analysis.judge.answer.text_checks import has_gradients, seen_in
from opbridge.analysis.judge.judgement import MACHINE, Judgement, Reason, Verdict
from opbridge.analysis.judge.process.confinement import Cell, hand_on, private_folder
from opbridge.analysis.judge.process.conversation import Conversation
from opbridge.analysis.judge.process.jobs import AnswerJob, ReferenceJob, Trial
from opbridge.analysis.judge.process.prepared import NO_DEVICE, Prepared
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.task.formats import TaskFormat, format_of, settings_of
from opbridge.analysis.judge.task.input_numbers import AS_DRAWN
from opbridge.analysis.judge.task.shapes import PUBLISHED, Plan, plans
from opbridge.analysis.judge.task.sizes import published_sizes, sizes_by_default
from opbridge.analysis.judge.values import copy_given
from opbridge.analysis.judge.verdict.second_opinion import another
from opbridge.analysis.judge.verdict.verdict_from_runs import at_published_sizes, decide, wants_published_sizes
from opbridge.base.errors import InputError, OpbridgeError, ToolchainError, UnsupportedError
from opbridge.base.remove_folder import remove_tree, temporary_folder
from opbridge.verify.check.child_process import NO_ANSWER, Child, Starting
from opbridge.verify.check.forked_processes import Forks

_OF_REFERENCE, _OF_ANSWER, _GIVEN = "reference", "answer", "given"
"""Names of the working folders."""
_LONGEST_REFERENCE = 20
"""The most time of a reference at all sizes, in timeouts; each size has one."""
_REFERENCE, _ANSWER = (
    "opbridge.analysis.judge.process.reference_worker",
    "opbridge.analysis.judge.process.answer_worker",
)


def judge(
    reference: str | os.PathLike[str], answer: str | os.PathLike[str], *, seed: int = 0, timeout: float = 60.0
) -> Judgement:
    """Judge whether the answer does what the reference does.

    `timeout` applies separately to the build and to each call, in seconds.

    Raises:
        InputError: The task or the answer cannot be read.
    """
    with Prepared() as prepared:
        return judge_by(prepared, Path(reference), Path(answer), seed, timeout)


def judge_by(prepared: Prepared, reference: Path, answer: Path, seed: int, timeout: float) -> Judgement:
    """Judge as `judge` does, with processes that several answers share."""
    started = time.perf_counter()
    task = Path(os.path.abspath(reference))
    form = format_of(task)
    read = _Answer.read(Path(os.path.abspath(answer)))
    try:
        with temporary_folder(private_folder()) as folder:
            found = _judged(prepared, task, form, read, folder, seed, timeout)
    except UnsupportedError as error:
        found = Judgement(Verdict.UNDECIDED, (Reason(MACHINE, str(error), "judge it on another machine"),))
    except OpbridgeError:
        raise
    except Exception as error:
        found = _failed(error)
    return replace(found, seconds=round(time.perf_counter() - started, 1))


def _failed(error: Exception) -> Judgement:
    """Return the judgement of an answer for which the judge itself fails: it is never right, and no batch ends."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{os.path.basename(last.filename)}:{last.lineno}"
    text = f"the judge fails at {at}: {type(error).__name__}: {error}"
    return Judgement(Verdict.UNDECIDED, (Reason(MACHINE, text, "report it, with the task and the answer"),))


def _judged(
    prepared: Prepared, task: Path, form: TaskFormat, answer: _Answer, folder: Path, seed: int, timeout: float
) -> Judgement:
    source = answer.source
    if seen := seen_in(answer.form, answer.path.name, source):
        return seen
    _build_libraries(source)
    forks = prepared.of(answer.form.device)
    text = task.read_text(encoding="utf-8")
    seeds = (seed + 1, seed + 2)
    sizes = _sizes(form, task, text)
    job = ReferenceJob(task, form, folder / _OF_REFERENCE, tuple(plans(sizes, source)), seeds, has_gradients(source))
    found, tried = _round(forks, job, answer, _rooms(folder), timeout)
    if (further := another(found, tried, job, sizes)) is None:
        return found
    later = _again(forks, further.job, answer, folder, timeout)
    return found if later is None else further.settled(found, later)


def _again(forks: Forks, job: ReferenceJob, answer: _Answer, folder: Path, timeout: float) -> Judgement | None:
    """Judge at other sizes without building again; return None if this machine lacks the resources."""
    remove_tree(job.folder)
    later_folder = _rooms(folder / "again")
    hand_on(folder / _OF_ANSWER, later_folder / _OF_ANSWER)
    try:
        return _round(forks, replace(job, folder=later_folder / _OF_REFERENCE), answer, later_folder, timeout)[0]
    except ToolchainError:
        return None


def _rooms(folder: Path) -> Path:
    """Create working folders for the reference, the answer, and what the answer is given; return `folder`."""
    for name in (_OF_REFERENCE, _OF_ANSWER, _GIVEN):
        (folder / name).mkdir(mode=0o700, parents=True)
    return folder


def _round(
    forks: Forks, job: ReferenceJob, answer: _Answer, folder: Path, timeout: float
) -> tuple[Judgement, list[Plan]]:
    """Judge once; return the judgement and the plans that were tried, with the published one if it decided."""
    of_answer = folder / _OF_ANSWER
    with ThreadPoolExecutor(1) as beside:
        expecting = beside.submit(_expected, job, timeout, forks)
        run, found = _ran(job, answer, expecting, of_answer, timeout, forks)
    expected = expecting.result()
    tried = [trial.plan for trial in expected.trials]
    final = at_published_sizes(found, run, expected.vast, job.folder, of_answer)
    return final, tried if final is found else [*tried, Plan(PUBLISHED)]


def _build_libraries(source: str) -> None:
    """Build the libraries that an answer calls outside its process: its own builds are private, and these take long."""
    from opbridge.authoring.extensions.requests import libraries_called
    from opbridge.twins.cuda import toolchain as cuda_twin

    for name in libraries_called(source):
        cuda_twin.library(name)


def _sizes(form: TaskFormat, task: Path, text: str) -> dict[str, object]:
    """Return the published sizes of a task."""
    if not form.hands_functions:
        return published_sizes(text)
    settings = {**sizes_by_default(text), **settings_of(task)}
    return {name: size for name, size in settings.items() if type(size) is int and size > 0}


@dataclass(frozen=True)
class _Answer:
    path: Path
    content: bytes
    source: str
    form: AnswerFormat

    @classmethod
    def read(cls, path: Path) -> _Answer:
        content = read_source(path, "it is the answer to judge")
        source = content.decode("utf-8", errors="replace")
        return cls(path, content, source, answer_format(path.suffix, source))


@dataclass(frozen=True)
class _Expected:
    trials: tuple[Trial, ...]
    left_out: tuple[str, ...]
    vast: Trial | None
    """The trial at the published sizes, if they are too large to compute."""


def _expected(job: ReferenceJob, timeout: float, forks: Forks) -> _Expected:
    trials: list[Trial] = []
    left_out: dict[str, list[str]] = {}
    vast: Trial | None = None
    deadline = time.monotonic() + _LONGEST_REFERENCE * timeout
    with Child(_REFERENCE, [job], NO_DEVICE, timeout, forks.start) as child:
        done = False
        for said in child.messages():
            if time.monotonic() > deadline:
                raise InputError(f"{job.reference} takes more than {_LONGEST_REFERENCE * timeout:g} s in all")
            done |= "done" in said
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "bad_task" in said:
                raise InputError(f"{job.reference} is a bad task: {said['bad_task']}")
            if "left_out" in said:
                plan, reason = said["left_out"]
                left_out.setdefault(reason, []).append(plan)
            if "vast" in said:
                vast = _trial(said["vast"], job.plans)
            if "trial" in said:
                trials.append(_trial(said["trial"], job.plans))
        how = child.end()
        if not trials and how.startswith(NO_ANSWER):
            left_out[f"the reference gives {how}"] = []
        elif not done and not trials:
            raise ToolchainError(f"the process of the reference ends early: {how}\n{child.log()[-2000:]}")
    return _Expected(tuple(trials), tuple(_said_once(*one) for one in left_out.items()), vast)


def _said_once(reason: str, plans: list[str]) -> str:
    if not plans:
        return reason
    return f"{plans[0]}{f' and {len(plans) - 1} others' if plans[1:] else ''}: {reason}"


def _trial(said: dict[str, Any], known: tuple[Plan, ...]) -> Trial:
    operators = tuple(said["operators"])
    return Trial(
        said["number"],
        known[said["plan"]],
        said["seed"],
        said["inputs"],
        operators,
        said.get("is_constant", False),
        said.get("elements", 0),
        said.get("numbers", AS_DRAWN),
    )


def _ran(
    job: ReferenceJob,
    answer: _Answer,
    expecting: Future[_Expected],
    folder: Path,
    timeout: float,
    forks: Forks,
) -> tuple[Run, Judgement]:
    """Run the answer and judge it.

    The answer is built while the reference runs. It is judged before the call at sizes that are too large to
    compute.
    """
    from opbridge.build.cache import Cache

    def weighed() -> Judgement:
        expected = expecting.result()
        return decide(run, run.called(expected.trials), job.folder, folder, expected.left_out)

    own, given = folder / answer.path.name, folder.parent / _GIVEN
    own.write_bytes(answer.content)
    cell = Cell(folder, Cache().root, (job.reference, answer.path), (given,))
    found: Judgement | None = None
    to_do = AnswerJob(own, answer.form, job.format.answer, job.seeds[0], job.with_gradients, given, cell)
    starting = Starting(f"building {answer.path.name}", until="built", patience=2)
    with Child(_ANSWER, [to_do], {}, timeout, forks.start, is_told_more=True, starting=starting) as child:
        talk = Conversation(child, lambda: _given(job, answer.form, expecting.result(), given))
        run = talk.run
        for kind in talk.heard():
            if kind == "done" and expecting.result().vast is not None:
                found = weighed()
                if not wants_published_sizes(found):
                    return run, found
    if run.at == "starting" and not run.nonsense:
        raise ToolchainError(f"the process of the answer ends before it: {run.end}\n{run.log[-2000:]}")
    return run, found or weighed()


def _given(
    job: ReferenceJob, form: AnswerFormat, expected: _Expected, given: Path
) -> tuple[tuple[Trial, ...], Trial | None]:
    """Copy the inputs of the trials for the answer; return the trials without what it must not know."""
    vast = expected.vast if form.device.run_alone else None
    for trial in (*expected.trials, *([vast] if vast else [])):
        for name in (trial.initial_file, trial.inputs_file):
            _copied(job, name, given)
    return tuple(replace(trial, operators=()) for trial in expected.trials), vast


def _copied(job: ReferenceJob, name: str, given: Path) -> None:
    try:
        copy_given(job.folder / name, given / name)
    except InputError as error:
        raise InputError(f"{job.reference} is a bad task: {error}") from None
