"""Run the process of an answer."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import opbridge
from opbridge.analysis.judge.process.confinement import enter
from opbridge.analysis.judge.process.jobs import MUTED, AnswerJob, Trial, telling
from opbridge.base.errors import CacheError, ToolchainError, UnsupportedError
from opbridge.build import cache, toolchains
from opbridge.verify.check.child_process import Say, serve, told_more
from opbridge.verify.check.process_limits import take_more_than_is_used

_BLOCKS = 8
"""The number of blocks to simulate if a launch is too large: the first, the last, and some others."""
_SECONDS = 20
"""The time limit of such a call, in processor seconds."""
_TWINS = os.path.join(os.path.dirname(opbridge.__file__), "twins")
_TOOLS = (
    os.path.dirname(cache.__file__),
    os.path.dirname(toolchains.__file__),
    *(os.path.join(_TWINS, *names) for names in (("common",), ("cuda", "toolchain.py"), ("ascend", "toolchain.py"))),
)


def _work(jobs: list[AnswerJob], say: Say) -> None:
    (job,) = jobs
    given = told_more()
    # Confine the process first: this works only while it has one thread.
    try:
        if job.records is not None:
            job.format.device.open_record(*job.records)
        enter(job.cell)
    except UnsupportedError as error:
        say(refused=str(error))
        return
    take_more_than_is_used()  # the twin keeps freed memory reserved; the parent limits what is used
    os.chdir(job.cell.folder)
    tempfile.tempdir = os.environ["TMPDIR"] = str(job.cell.folder)
    warnings.simplefilter("ignore")
    sys.argv[:], sys.orig_argv[:] = [str(job.answer)], [sys.executable, str(job.answer)]  # as if it were run
    say(begun="building")
    try:
        _judge(job, given, say)
    except BaseException as error:
        say(raised=_told(error, job.cell.folder))


def _judge(job: AnswerJob, wait: Callable[[], Any], say: Say) -> None:
    import torch

    from opbridge.analysis.judge.answer.model_maker import model_maker
    from opbridge.analysis.judge.process.model_caller import Caller
    from opbridge.analysis.judge.verdict.tampering import Watch

    device = job.format.device
    device.keep_reports()
    device.hide()
    torch.manual_seed(job.model_seed)  # the function replaces itself on its first call, before the watch starts
    readable = (str(job.cell.cache), sys.prefix, sys.base_prefix, "/dev")
    watch = Watch(str(job.cell.folder), readable, may_find_by_name=not device.has_judge_functions)
    torch.manual_seed(job.model_seed)
    answer_of = model_maker(job.answer, job.format, job.name)
    say(built=True)
    caller, (trials, vast) = Caller(job, answer_of), wait()
    for trial in trials:
        say(asks=trial.number)
        if not wait():
            continue  # the judge measures how long calls take, and leaves this one out
        say(begun=trial.number)
        try:
            say(ran=trial.number, **caller.call(trial, is_recorded=trial == telling(trials)))
        except Exception as error:
            say(failed=trial.number, **_told(error, job.cell.folder))
    say(tampering=[vars(reason) for reason in watch.findings()])
    if trials:
        say(begun=MUTED)
        _leave_another_result(Caller(job, answer_of), trials)
        # With muted kernels, an output that is still right did not come from them.
        device.make_mute(True)
        with suppress(Exception):
            Caller(job, answer_of).call_muted(telling(trials))
            say(muted=True)
        device.make_mute(False)
    say(done=True)
    if vast is not None:
        say(begun=vast.number)
        device.leave_out_all_but(_BLOCKS)
        _limit_time(_SECONDS)
        try:
            _call_vast(job, answer_of, vast)
        except Exception as error:
            say(vast=_told(error, job.cell.folder))


def _leave_another_result(caller: Any, trials: tuple[Trial, ...]) -> None:
    """Call the answer with other inputs of the same sizes, so that no workspace holds the output that is looked for."""
    shown = telling(trials)
    other = next((trial for trial in trials if trial.plan == shown.plan and trial != shown), None)
    with suppress(Exception):
        if other is not None:
            caller.call_once(other)


def _limit_time(seconds: int) -> None:
    """Limit the processor time from now on; if the limit ends the process, it has already reported everything else."""
    used = sum(os.times()[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, resource.RLIM_INFINITY))


def _call_vast(job: AnswerJob, answer_of: Any, trial: Trial) -> None:
    """Call the answer at sizes that are too large to compute, and save the sizes of its outputs.

    PyTorch operators and most blocks of the kernels compute nothing, so the values of the outputs mean nothing.
    """
    import torch
    from torch.utils._pytree import tree_map_only

    from opbridge.analysis.judge.tensors import to_tensors, to_values
    from opbridge.analysis.judge.values import load, save
    from opbridge.analysis.profile.pytorch.operator_recorder import Hollow
    from opbridge.analysis.profile.pytorch.recurrent import Recurrent

    with torch.no_grad(), Hollow() as watched, Recurrent(watched.calls.append):
        initial, inputs = (
            to_tensors(load(job.given / name), device)
            for name, device in ((trial.initial_file, "cpu"), (trial.inputs_file, job.format.device.name))
        )
        with job.format.device.telling():
            outputs = answer_of(*initial).to(job.format.device.name)(*inputs)
    sizes = tree_map_only(torch.Tensor, lambda one: torch.empty(one.shape, dtype=one.dtype, device="meta"), outputs)
    save(job.cell.folder / trial.output_file, to_values(sizes))


def _told(error: BaseException, folder: Path) -> dict[str, Any]:
    trace = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in trace if Path(frame.filename).is_relative_to(folder)]
    # Blame the tools, not the answer, for errors such as changes to the shared cache below this overlay.
    is_of_tools = isinstance(error, (OSError, CacheError, ToolchainError)) and trace[-1].filename.startswith(_TOOLS)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    text = str(error) or type(error).__name__
    names = {kind.__name__ for kind in type(error).__mro__}
    kinds = {"build": "BuildError" in names, "tools": is_of_tools}
    return {"kind": type(error).__name__, "message": text[:20000], "place": place, **kinds}


if __name__ == "__main__":
    serve(_work)
