"""Run the process that counts the operations of a model without computing it, confined like an answer."""

from __future__ import annotations

import ctypes
import os
import tempfile
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

from opbridge.analysis.judge.process.confinement import Cell, enter
from opbridge.base.errors import UnsupportedError
from opbridge.twins.cuda.toolchain import runtime
from opbridge.verify.check.child_process import Say, serve
from opbridge.verify.check.process_limits import take_more_than_is_used


@dataclass(frozen=True)
class CostJob:
    """A model to count."""

    task: Path
    answer: Path
    names: tuple[str, str, str]
    device: str
    cell: Cell


def _work(jobs: list[CostJob], say: Say) -> None:
    (job,) = jobs
    # Confine the process first: this works only while it has one thread.
    try:
        enter(job.cell)
    except UnsupportedError as error:
        say(refused=str(error))
        return
    os.chdir(job.cell.folder)
    tempfile.tempdir = os.environ["TMPDIR"] = str(job.cell.folder)
    warnings.simplefilter("ignore")
    say(begun="building")
    try:
        from opbridge.analysis.profile.pytorch.model_call import calls_of

        take_more_than_is_used()
        calls = calls_of(job.task, job.answer, job.names, job.device)
        # Write the counts here, because a fork skips exit handlers.
        ctypes.CDLL(str(runtime())).ob_twin_write_counts()
    except Exception as error:
        say(failed="".join(traceback.format_exception_only(type(error), error)).strip())
        return
    say(calls=[asdict(call) for call in calls])


if __name__ == "__main__":
    serve(_work)
