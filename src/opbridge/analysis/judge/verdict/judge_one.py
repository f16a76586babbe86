"""Judge one answer to a task."""

from __future__ import annotations

import os
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from opbridge.analysis.judge.answer.submissions import KERNELS, POLICIES, Options
from opbridge.analysis.judge.answer.text_checks import has_gradients, seen_in
from opbridge.analysis.judge.judgement import MACHINE, Judgement, Reason, Verdict
from opbridge.analysis.judge.process.confinement import hand_on
from opbridge.analysis.judge.process.jobs import ReferenceJob
from opbridge.analysis.judge.process.prepared import Prepared, shared
from opbridge.analysis.judge.process.working_folder import working_folder
from opbridge.analysis.judge.task import gpu_mode
from opbridge.analysis.judge.task.definitions import Definition, answer_of
from opbridge.analysis.judge.task.formats import TaskFormat, format_of, settings_of
from opbridge.analysis.judge.task.shapes import PUBLISHED, Plan, plans
from opbridge.analysis.judge.task.sizes import published_sizes, sizes_by_default
from opbridge.analysis.judge.verdict.answer_run import GIVEN, AnswerFile, run_answer
from opbridge.analysis.judge.verdict.expected import expected_of
from opbridge.analysis.judge.verdict.second_opinion import another
from opbridge.analysis.judge.verdict.verdict_from_runs import at_published_sizes
from opbridge.analysis.judge.verdict.work import by_policy
from opbridge.base.errors import InputError, OpbridgeError, ToolchainError, UnsupportedError, for_users
from opbridge.base.remove_folder import remove_tree
from opbridge.verify.check.forked_processes import Forks

_OF_REFERENCE, _OF_ANSWER = "reference", "answer"
"""Names of the working folders."""


@for_users
def judge(
    reference: str | os.PathLike[str],
    answer: str | os.PathLike[str],
    *,
    seed: int | None = None,
    timeout: float = 60.0,
    policy: str = KERNELS,
) -> Judgement:
    """Judge whether an answer computes what its reference computes.

    Args:
        reference: The file of the task.
        answer: The file of the answer.
        seed: The seed of the inputs; drawn by default, and told in the judgement.
        timeout: The limit of the build and of each call, in seconds.
        policy: With `kernels`, the kernels of the answer have to do at least half of the work; with `any`, PyTorch's
            operators may do all of it.

    Returns:
        The judgement: verdict, reasons and shapes.

    Raises:
        InputError: The task or the answer cannot be read, or there is no such policy.

    Example:
        print(ob.judge("reference.py", "answer.py").verdict)
    """
    if policy not in POLICIES:
        raise InputError(f"policy={policy!r}: expected one of {', '.join(POLICIES)}")
    with shared() as prepared:
        return judge_by(prepared, Path(reference), Path(answer), Options(seed, timeout, policy))


def judge_by(prepared: Prepared, reference: Path, answer: Path, options: Options) -> Judgement:
    """Judge as `judge` does, with processes that several answers share."""
    started = time.perf_counter()
    task, own = Path(os.path.abspath(reference)), Path(os.path.abspath(answer))
    with ExitStack() as ends:
        if task.suffix == ".json" or task.name == gpu_mode.TASK:
            task, own = _as_kernelbench(task, own, ends.enter_context(working_folder()))
        return _judged_by(prepared, task, own, options, started)


def _as_kernelbench(given: Path, solution: Path, folder: Path) -> tuple[Path, Path]:
    """Write a task and an answer of flashinfer-bench or GPU MODE as those of KernelBench; return their paths."""
    if given.name == gpu_mode.TASK:
        name, text, of_task = solution.name, gpu_mode.answer_of(solution), gpu_mode.task_of(given)
    else:
        known = Definition.read(given)
        (name, text), of_task = answer_of(solution, known), known.task()
    task, answer = folder / given.with_suffix(".py").name, folder / "answer" / name
    answer.parent.mkdir()
    task.write_text(of_task, encoding="utf-8")
    answer.write_text(text, encoding="utf-8")
    return task, answer


def _judged_by(prepared: Prepared, task: Path, answer: Path, options: Options, started: float) -> Judgement:
    form = format_of(task)
    read = AnswerFile.read(answer)
    options = options.with_seed()
    try:
        with working_folder() as folder:
            found = by_policy(_judged(prepared, task, form, read, folder, options), options.policy)
    except UnsupportedError as error:
        found = Judgement(Verdict.UNDECIDED, (Reason(MACHINE, str(error), "judge it on another machine"),))
    except OpbridgeError:
        raise
    except Exception as error:
        found = _failed(error)
    return replace(found, seconds=round(time.perf_counter() - started, 1), seed=options.seed if found.shapes else None)


def _failed(error: Exception) -> Judgement:
    """Return the judgement of an answer for which the judge itself fails: it is never right, and no batch ends."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{os.path.basename(last.filename)}:{last.lineno}"
    text = f"the judge fails at {at}: {type(error).__name__}: {error}"
    return Judgement(Verdict.UNDECIDED, (Reason(MACHINE, text, "report it, with the task and the answer"),))


def _judged(
    prepared: Prepared, task: Path, form: TaskFormat, answer: AnswerFile, folder: Path, options: Options
) -> Judgement:
    source = answer.source
    if seen := seen_in(answer.form, answer.path.name, source):
        return seen
    _build_libraries(source)
    forks = prepared.of(answer.form.device)
    text = task.read_text(encoding="utf-8")
    first = options.seed or 0
    seeds = (first + 1, first + 2)
    sizes = _sizes(form, task, text)
    job = ReferenceJob(task, form, folder / _OF_REFERENCE, tuple(plans(sizes, source)), seeds, has_gradients(source))
    found, tried = _round(forks, job, answer, _rooms(folder), options)
    if (further := another(found, tried, job, sizes)) is None:
        return found
    later = _again(forks, further.job, answer, folder, options)
    return found if later is None else further.settled(found, later)


def _again(forks: Forks, job: ReferenceJob, answer: AnswerFile, folder: Path, options: Options) -> Judgement | None:
    """Judge at other sizes without building again; return None if this machine lacks the resources."""
    remove_tree(job.folder)
    later_folder = _rooms(folder / "again")
    hand_on(folder / _OF_ANSWER, later_folder / _OF_ANSWER)
    try:
        return _round(forks, replace(job, folder=later_folder / _OF_REFERENCE), answer, later_folder, options)[0]
    except ToolchainError:
        return None


def _rooms(folder: Path) -> Path:
    """Create working folders for the reference, the answer, and what the answer is given; return `folder`."""
    for name in (_OF_REFERENCE, _OF_ANSWER, GIVEN):
        (folder / name).mkdir(mode=0o700, parents=True)
    return folder


def _round(
    forks: Forks, job: ReferenceJob, answer: AnswerFile, folder: Path, options: Options
) -> tuple[Judgement, list[Plan]]:
    """Judge once; return the judgement and the plans that were tried, with the published one if it decided."""
    of_answer = folder / _OF_ANSWER
    with ThreadPoolExecutor(1) as beside:
        expecting = beside.submit(expected_of, job, options.timeout, forks)
        run, found = run_answer(job, answer, expecting, of_answer, options.timeout, forks, options.policy)
    expected = expecting.result()
    tried = [trial.plan for trial in expected.trials]
    final = at_published_sizes(found, run, expected.vast, job.folder, of_answer)
    return final, tried if final.reasons == found.reasons else [*tried, Plan(PUBLISHED)]


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
