"""Run the process of an answer."""

from __future__ import annotations

import math
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import opbridge
from opbridge.analysis.judge.process.confinement import enter
from opbridge.analysis.judge.process.jobs import MOST_WRITES, MUTED, AnswerJob, Trial, telling
from opbridge.base.errors import CacheError, ToolchainError, UnsupportedError
from opbridge.build import cache, toolchains
from opbridge.verify.check.child_process import Say, serve, told_more
from opbridge.verify.check.process_limits import take_more_than_is_used

_BLOCKS = 8
"""The number of blocks to simulate if a launch is too large: the first, the last, and some others."""
_MOST_OF_OTHERS = 64 << 20
"""The bytes to keep of what operators return while kernels do nothing."""
_SECONDS = 20
"""The time limit of such a call, in processor seconds."""
_LATER, _SECONDS_OF_LATER_CALLS = 47, 2.0
"""The calls after the first three, up to the fiftieth, and the processor seconds that they may take."""
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
        enter(job.cell)
    except UnsupportedError as error:
        say(refused=str(error))
        return
    take_more_than_is_used()  # the twin keeps freed memory reserved; the parent limits what is used
    os.chdir(job.cell.folder)
    tempfile.tempdir = os.environ["TMPDIR"] = str(job.cell.folder)
    warnings.simplefilter("ignore")
    say(begun="building")
    try:
        _judge(job, given, say)
    except BaseException as error:
        say(raised=_told(error, job.cell.folder))


def _judge(job: AnswerJob, wait: Callable[[], Any], say: Say) -> None:
    import torch

    from opbridge.analysis.judge.answer.model_maker import model_maker
    from opbridge.analysis.judge.verdict.tampering import Watch

    device = job.format.device
    device.keep_reports()
    torch.manual_seed(job.model_seed)  # the function replaces itself on its first call, before the watch starts
    watch = Watch(str(job.cell.folder), (str(job.cell.cache), sys.prefix, sys.base_prefix, "/dev"))
    torch.manual_seed(job.model_seed)
    answer_of = model_maker(job.answer, job.format, job.name)
    say(built=True)
    caller, (trials, vast) = _Caller(job, answer_of), wait()
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
        # With muted kernels, an output that is still right did not come from them.
        device.make_mute(True)
        with suppress(Exception):
            _Caller(job, answer_of).call_muted(telling(trials))
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


class _Caller:
    """Call the model as a user does: one model, and the same input memory, for all trials of one plan."""

    def __init__(self, job: AnswerJob, answer_of: Any) -> None:
        self._job = job
        self._answer_of = answer_of
        self._plan: object = None
        self._model: Any = None
        self._initial: dict[str, Any] = {}
        """The state of the model when it was made."""
        self._inputs: Any = None
        self._outputs: list[tuple[Trial, Any]] = []
        """The output of the last trial of the same model, if it has memory of its own."""

    def call(self, trial: Trial, *, is_recorded: bool) -> dict[str, Any]:
        """Call the model twice and save the outputs; return the operators that ran and the inputs that changed."""
        import torch

        from opbridge.analysis.judge.process.gradients import gradients
        from opbridge.analysis.judge.process.model_state import restore_state, state_of
        from opbridge.analysis.judge.process.operator_modes import Operators
        from opbridge.analysis.judge.tensors import tensors_in, to_values
        from opbridge.analysis.judge.values import save

        folder, inputs = self._job.cell.folder, self._prepare(trial)
        save(folder / trial.parameters_file, to_values([one.detach() for one in self._model.parameters()]))
        if is_recorded:  # earlier trials have moved its statistics, and the reference is made anew for each
            restore_state(self._model, self._initial)
        state = state_of(self._model)
        with Operators() as operators, self._recording(folder / trial.writes_file if is_recorded else None):
            first = self._run(trial)
        save(folder / trial.output_file, to_values(first))
        self._look_again(trial, first)
        pairs = zip(tensors_in(inputs), tensors_in(self._inputs), strict=True)
        changed = [i for i, (old, new) in enumerate(pairs) if not _same(old, new)]
        if is_recorded:
            save(folder / trial.state_file, to_values(state_of(self._model)))
        restore_state(self._model, state)
        save(folder / trial.again_file, to_values(self._run(trial)))
        if is_recorded:
            self._call_later(trial, state)
        if self._job.with_gradients:
            restore_state(self._model, state)
            torch.manual_seed(trial.seed)
            save(folder / trial.gradients_file, to_values(gradients(self._model, self._inputs)))
        return {"operators": operators.names, "changed": changed, "operations": operators.operations}

    def _call_later(self, trial: Trial, state: dict[str, Any]) -> None:
        """Call the model with other weights, and for the fiftieth time; the next calls have the weights of before."""
        from opbridge.analysis.judge.process.model_state import change_weights, restore_state
        from opbridge.analysis.judge.tensors import to_values
        from opbridge.analysis.judge.values import save

        folder, output, limit = self._job.cell.folder, None, time.process_time() + _SECONDS_OF_LATER_CALLS
        restore_state(self._model, state)
        change_weights(self._model)
        with suppress(Exception):  # the reference may fail with such weights too
            save(folder / trial.reweighted_file, to_values(self._run(trial)))
        for _ in range(_LATER):
            restore_state(self._model, state)
            if time.process_time() > limit:
                return
            output = self._run(trial)
        save(folder / trial.later_file, to_values(output))
        restore_state(self._model, state)

    def _look_again(self, trial: Trial, output: Any) -> None:
        """Save what the output of the trial before is by now, and keep this one; views of inputs may change."""
        from opbridge.analysis.judge.tensors import tensors_in, to_values
        from opbridge.analysis.judge.values import save

        for before, kept in self._outputs:
            save(self._job.cell.folder / before.kept_file, to_values(kept))
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_in(self._inputs)}
        is_own = all(tensor.untyped_storage().data_ptr() not in given for tensor in tensors_in(output))
        self._outputs = [(trial, output)] if is_own else []

    def call_muted(self, trial: Trial) -> None:
        """Call the model while kernels do nothing; save its output, and what operators returned that may be one."""
        from opbridge.analysis.judge.process.operator_modes import Results
        from opbridge.analysis.judge.tensors import to_values
        from opbridge.analysis.judge.values import arrays_of, load, save

        folder, _ = self._job.cell.folder, self._prepare(trial)
        sizes = {math.prod(array.shape) for array in arrays_of(load(folder / trial.output_file))}
        results = Results(sizes, _MOST_OF_OTHERS)
        try:
            with results, self._recording(folder / trial.muted_writes_file):
                output = self._run(trial)
            save(folder / trial.muted_file, to_values(output))
        finally:
            save(folder / trial.others_file, results.kept)

    def _recording(self, file: Path | None) -> AbstractContextManager[None]:
        return self._job.format.device.recording_writes(file, MOST_WRITES) if file else nullcontext()

    def _prepare(self, trial: Trial) -> Any:
        """Create the model of a plan, and write the inputs to its memory; return the inputs."""
        import torch

        from opbridge.analysis.judge.process.model_state import state_of
        from opbridge.analysis.judge.tensors import tensors_in, to_tensors
        from opbridge.analysis.judge.values import load

        device = self._job.format.device.name
        inputs = to_tensors(load(self._job.given / trial.inputs_file), device)
        if self._plan != trial.plan:
            initial = to_tensors(load(self._job.given / trial.initial_file), "cpu")
            torch.manual_seed(self._job.model_seed)
            self._plan, self._inputs = trial.plan, to_tensors(load(self._job.given / trial.inputs_file), device)
            self._model, self._outputs = self._answer_of(*initial).to(device), []
            self._initial = state_of(self._model)
        else:
            # Write new values to the same memory, to catch answers that cache results by address.
            for old, new in zip(tensors_in(self._inputs), tensors_in(inputs), strict=True):
                old.copy_(new)
        return inputs

    def _run(self, trial: Trial) -> Any:
        import torch

        torch.manual_seed(trial.seed)
        with torch.no_grad(), self._job.format.device.telling():
            return self._model(*self._inputs)


def _same(one: Any, other: Any) -> bool:
    import torch

    return bool(torch.equal(one.cpu().view(-1).view(torch.uint8), other.cpu().contiguous().view(-1).view(torch.uint8)))


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
