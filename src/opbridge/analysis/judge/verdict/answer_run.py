"""Run the process of an answer, and decide what its outputs are worth."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.analysis.judge.answer.formats import AnswerFormat, answer_format
from opbridge.analysis.judge.answer.submissions import read_source
from opbridge.analysis.judge.judgement import Judgement
from opbridge.analysis.judge.process.confinement import Cell
from opbridge.analysis.judge.process.conversation import Conversation
from opbridge.analysis.judge.process.jobs import AnswerJob, ReferenceJob, Trial
from opbridge.analysis.judge.process.record_channel import RecordChannel
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.values import copy_given
from opbridge.analysis.judge.verdict.expected import Expected
from opbridge.analysis.judge.verdict.verdict_from_runs import decide, wants_published_sizes
from opbridge.base.errors import InputError, ToolchainError
from opbridge.verify.check.child_process import Child, Starting
from opbridge.verify.check.forked_processes import Forks

GIVEN = "given"
"""The name of the folder that has the inputs, next to that of the answer."""
_ANSWER = "opbridge.analysis.judge.process.answer_worker"


@dataclass(frozen=True)
class AnswerFile:
    """The file of an answer, as it was when it was read."""

    path: Path
    content: bytes
    source: str
    form: AnswerFormat

    @classmethod
    def read(cls, path: Path) -> AnswerFile:
        """Read the file; raise InputError if it cannot be read."""
        content = read_source(path, "it is the answer to judge")
        source = content.decode("utf-8", errors="replace")
        return cls(path, content, source, answer_format(path.suffix, source))


def run_answer(
    job: ReferenceJob,
    answer: AnswerFile,
    expecting: Future[Expected],
    folder: Path,
    timeout: float,
    forks: Forks,
    policy: str,
) -> tuple[Run, Judgement]:
    """Run the answer and judge it.

    The answer is built while the reference runs. It is judged before the call at sizes that are too large to
    compute.
    """
    from opbridge.build.cache import Cache

    def weighed() -> Judgement:
        run.records = channel.records() if has_records else None
        expected = expecting.result()
        return decide(run, run.called(expected.trials), job.folder, folder, expected.left_out, policy)

    own, given = folder / answer.path.name, folder.parent / GIVEN
    own.write_bytes(answer.content)
    cell = Cell(folder, Cache().root, (job.reference, answer.path), (given,))
    found: Judgement | None = None
    channel, has_records = RecordChannel(folder.parent), answer.form.device.has_judge_functions
    files = (channel.file, channel.key_file) if has_records else None
    to_do = AnswerJob(own, answer.form, job.format.answer, job.seeds[0], job.with_gradients, given, cell, files)
    starting = Starting(f"building {answer.path.name}", until="built", patience=2)
    with channel, Child(_ANSWER, [to_do], {}, timeout, forks.start, is_told_more=True, starting=starting) as child:
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
    job: ReferenceJob, form: AnswerFormat, expected: Expected, given: Path
) -> tuple[tuple[Trial, ...], Trial | None]:
    """Copy the inputs of the trials for the answer; return the trials without what it must not know."""
    vast = expected.vast if form.device.has_judge_functions else None
    for trial in (*expected.trials, *([vast] if vast else [])):
        for name in (trial.initial_file, trial.inputs_file):
            _copied(job, name, given)
    return tuple(replace(trial, operators=(), operations=0.0) for trial in expected.trials), vast


def _copied(job: ReferenceJob, name: str, given: Path) -> None:
    try:
        copy_given(job.folder / name, given / name)
    except InputError as error:
        raise InputError(f"{job.reference} is a bad task: {error}") from None
