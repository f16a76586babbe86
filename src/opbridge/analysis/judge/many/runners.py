"""Judge many answers on this machine, in several threads with a process each; for a cluster, see `cluster`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from opbridge.analysis.judge.answer.submissions import Submission
from opbridge.analysis.judge.judgement import Judgement, Verdict
from opbridge.analysis.judge.many.kept_verdicts import of_content
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.analysis.judge.verdict.costs import Prediction, costs_by
from opbridge.analysis.judge.verdict.judge_one import judge_by
from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.base.progress import carried


@dataclass(frozen=True)
class Case:
    """An answer to judge."""

    submission: Submission
    task: Path
    answer: Path
    """The answer file; `task` and `answer` have the content of the submission."""
    chip: str = ""
    """The chip to predict the costs of a right answer on; empty for none."""
    known: Judgement | None = None
    """The judgement, if only the costs are missing."""


@dataclass(frozen=True)
class Found:
    """A judgement, and the predicted costs if they were requested."""

    judgement: Judgement
    cost: Prediction | OpbridgeError | None = None


Outcome: TypeAlias = "Found | OpbridgeError"


class Runner(Protocol):
    """A way to judge many answers."""

    def judged(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        """Yield each case once with its outcome, in the order in which they are done."""


@dataclass(frozen=True)
class Here:
    """A runner on this machine."""

    jobs: int
    """The number of answers to judge at a time."""

    def judged(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        """Yield each case once with its outcome, in the order in which they are done."""
        threads, in_step = ThreadPoolExecutor(self.jobs), carried(outcome)
        with Prepared() as prepared:
            try:
                running = {threads.submit(in_step, prepared, case): case for case in cases}
                for future in as_completed(running):
                    yield running[future], future.result()
            finally:
                # Do not wait when stopped: cancel what has not begun, and the rest ends with its processes.
                threads.shutdown(wait=False, cancel_futures=True)


def outcome(prepared: Prepared, case: Case) -> Outcome:
    """Judge one case; return an error instead of raising it."""
    try:
        judgement = case.known or _judged(prepared, case)
    except OpbridgeError as error:
        return error
    except Exception as error:  # of one case: it must not end the others
        return ToolchainError(f"the judge fails: {type(error).__name__}: {error}")
    return Found(judgement, _cost(prepared, case) if case.chip and judgement.verdict is Verdict.RIGHT else None)


def outcome_of(prepared: Prepared, submission: Submission, chip: str = "", known: Judgement | None = None) -> Outcome:
    """Judge a submission that is not in files yet; return an error instead of raising it."""
    with tempfile.TemporaryDirectory(prefix="opbridge-submission-") as folder:
        return outcome(prepared, Case(submission, *submission.write(Path(folder)), chip, known))


def _judged(prepared: Prepared, case: Case) -> Judgement:
    found = judge_by(prepared, case.task, case.answer, case.submission.options)
    return of_content(found, case.answer.name, case.submission)


def _cost(prepared: Prepared, case: Case) -> Prediction | OpbridgeError:
    try:
        return costs_by(prepared, case.task, case.answer, case.chip).prediction
    except OpbridgeError as error:
        return error
