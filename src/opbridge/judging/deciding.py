"""One judgement, from a task and an answer to the verdict."""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from opbridge.check.child import NO_ANSWER, Child
from opbridge.errors import InputError, ToolchainError, UnsupportedError
from opbridge.judging.confining import Cell
from opbridge.judging.formats import TaskFormat, format_of
from opbridge.judging.jobs import AnswerJob, ReferenceJob, Trial
from opbridge.judging.model import Judgement, Reason, Verdict
from opbridge.judging.shapes import Plan, plans
from opbridge.judging.tampering import written
from opbridge.judging.warming import warming
from opbridge.judging.weighing import Run, decide
from opbridge.openings import read_file

_REFERENCE, _ANSWER = "opbridge.judging.reference_worker", "opbridge.judging.answer_worker"
_LARGEST_SOURCE = 4 << 20


def judge(
    reference: str | os.PathLike[str], answer: str | os.PathLike[str], *, seed: int = 0, timeout: float = 60.0
) -> Judgement:
    """Whether the answer does what the reference does; `timeout` is of building it, and of each of its calls."""
    started = time.perf_counter()
    task = Path(os.path.abspath(reference))
    form = format_of(task)
    with tempfile.TemporaryDirectory(prefix="opbridge-judge-") as folder:
        found = _judged(task, form, Path(os.path.abspath(answer)), Path(folder), seed, timeout)
    return replace(found, seconds=round(time.perf_counter() - started, 1))


def _judged(task: Path, form: TaskFormat, answer: Path, folder: Path, seed: int, timeout: float) -> Judgement:
    source = _source(answer)
    try:
        looks = written(source, answer.name)
    except (SyntaxError, ValueError) as error:
        place = f"{answer.name}:{getattr(error, 'lineno', None) or 1}"
        return Judgement(Verdict.BROKEN, (Reason("python", f"it is not Python: {error}", "correct it", place),))
    if looks:
        return Judgement(Verdict.CHEATING, tuple(looks))
    if _imports(source, "triton"):
        reason = Reason("triton", "its kernels are Triton's, which no twin runs", "write them in CUDA, or use a GPU")
        return Judgement(Verdict.UNDECIDED, (reason,))
    of_reference, of_answer = folder / "reference", folder / "answer"
    of_reference.mkdir(mode=0o700)
    of_answer.mkdir(mode=0o700)
    text = task.read_text(encoding="utf-8")
    job = ReferenceJob(task, form, of_reference, tuple(plans(text, source)), (seed + 1, seed + 2))
    with warming():
        trials, left_out = _expected(job, timeout)
    run = _ran(answer, form, trials, of_reference, of_answer, task, timeout)
    return decide(run, trials, of_reference, of_answer, answer.name, tuple(left_out))


def _source(answer: Path) -> str:
    try:
        content = read_file(answer, limit=_LARGEST_SOURCE + 1)
    except OSError as error:
        raise InputError(f"{answer}: {error.strerror}", hint="it is the answer to judge") from None
    if len(content) > _LARGEST_SOURCE:
        raise InputError(f"{answer} is larger than {_LARGEST_SOURCE >> 20} MiB")
    return content.decode("utf-8", errors="replace")


def _imports(source: str, package: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == package for name in names):
            return True
    return False


def _expected(job: ReferenceJob, timeout: float) -> tuple[tuple[Trial, ...], list[str]]:
    trials: list[Trial] = []
    left_out: list[str] = []
    with Child(_REFERENCE, [job], {}, timeout) as child:
        done = False
        for said in child.messages():
            done |= "done" in said
            if "bad_task" in said:
                raise InputError(f"{job.reference} is a bad task: {said['bad_task']}")
            if "left_out" in said:
                left_out.append(f"{said['left_out'][0]}: {said['left_out'][1]}")
            if "trial" in said:
                trials.append(_trial(said["trial"], job.plans))
        how = child.end()
        if not done and not trials:
            raise ToolchainError(f"the process of the reference ends early: {how}\n{child.log()[-2000:]}")
    return tuple(trials), left_out


def _trial(said: dict[str, Any], known: tuple[Plan, ...]) -> Trial:
    kind, sizes = said["plan"]
    plan = next(
        plan for plan in known if plan.kind == kind and [name for name, _ in plan.sizes] == [name for name, _ in sizes]
    )
    return Trial(said["number"], plan, said["seed"], said["inputs"], tuple(said["operators"]))


def _ran(
    answer: Path, form: TaskFormat, trials: tuple[Trial, ...], expected: Path, folder: Path, task: Path, timeout: float
) -> Run:
    from opbridge.cache import Cache

    for trial in trials:
        for name in (trial.initial_file, trial.inputs_file):
            shutil.copyfile(expected / name, folder / name)
    own = folder / answer.name
    shutil.copyfile(answer, own)
    cell = Cell(folder, Cache().root, (task, answer, expected))
    run = Run()
    hidden_inputs = tuple(replace(trial, operators=()) for trial in trials)
    with Child(_ANSWER, [AnswerJob(own, form.answer, hidden_inputs, cell)], _variables(), timeout) as child:
        for said in child.messages():
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            run.hear(said)
        run.end = child.end()
        run.log = child.log()
        run.timed_out = run.end.startswith(NO_ANSWER)
    if run.at == "starting":
        raise ToolchainError(f"the process of the answer ends before it: {run.end}\n{run.log[-2000:]}")
    return run


def _variables() -> dict[str, str]:
    """What an answer's process is told; nothing of who runs it."""
    # NumPy would start threads as it is imported, and one who has threads can take no namespace of its own.
    return {"OPBRIDGE_CUDA_TWIN": "", "CUDA_VISIBLE_DEVICES": "0", "OPENBLAS_NUM_THREADS": "1"}
