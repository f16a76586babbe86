"""The process that an answer lives and ends in."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from opbridge import cache, toolchains
from opbridge.check.child import Say, serve, told_more
from opbridge.errors import CacheError, ToolchainError, UnsupportedError
from opbridge.judging.confining import enter
from opbridge.judging.jobs import AnswerJob, Trial, telling

_DEVICE = "cuda"
_TOOLS = (os.path.dirname(cache.__file__), os.path.dirname(toolchains.__file__))


def _work(jobs: list[AnswerJob], say: Say) -> None:
    (job,) = jobs
    trials = told_more()
    # First, while this is the only thread.
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
        _judge(job, trials, say)
    except BaseException as error:
        say(raised=_told(error, str(job.answer)))


def _judge(job: AnswerJob, wait: Callable[[], tuple[Trial, ...]], say: Say) -> None:
    import torch

    import opbridge.cuda_twin  # noqa: F401 - brings the device
    from opbridge.judging.answers import model_maker
    from opbridge.judging.tampering import Watch
    from opbridge.toolchains.cuda_twin import runtime

    torch.manual_seed(job.model_seed)  # replaces itself when it is first called
    own = (job.cell.folder, job.cell.cache, sys.prefix, sys.base_prefix, "/dev")
    watch = Watch(str(job.answer), tuple(map(str, own)))
    torch.manual_seed(job.model_seed)
    answer_of = model_maker(job.answer, job.name)
    say(built=True)
    caller, trials = _Caller(job, answer_of), wait()
    for trial in trials:
        say(begun=trial.number)
        try:
            say(ran=trial.number, **caller.call(trial))
        except Exception as error:
            say(failed=trial.number, **_told(error, str(job.answer)))
    say(tampering=[vars(reason) for reason in watch.findings()])
    if not trials:
        say(done=True)
        return
    say(begun="muted")
    # What is right all the same did not come from its kernels.
    ctypes.CDLL(str(runtime())).ob_twin_mute(1)
    with suppress(Exception):
        _Caller(job, answer_of).call(telling(trials), ".muted")
        say(muted=True)
    say(done=True)


class _Caller:
    """Calls the answer's model as a user does: one model, and the same memory, for all trials of one set of sizes."""

    def __init__(self, job: AnswerJob, answer_of: Any) -> None:
        self._job = job
        self._answer_of = answer_of
        self._plan: object = None
        self._model: Any = None
        self._inputs: Any = None

    def call(self, trial: Trial, suffix: str = "") -> dict[str, Any]:
        """Writes what came of it, and of the same again, and says what else happened."""
        import torch

        from opbridge.judging.gradients import gradients
        from opbridge.judging.operators_run import Operators
        from opbridge.judging.tensors import tensors_in, to_tensors, to_values
        from opbridge.judging.values import load, save

        folder = self._job.cell.folder
        inputs = to_tensors(load(folder / trial.inputs_file), _DEVICE)
        if self._plan != trial.plan:
            initial = to_tensors(load(folder / trial.initial_file), "cpu")
            torch.manual_seed(self._job.model_seed)
            self._plan, self._inputs = trial.plan, to_tensors(load(folder / trial.inputs_file), _DEVICE)
            self._model = self._answer_of(*initial).to(_DEVICE)
        else:
            # New values in the memory of the old, for those who remember by addresses.
            for old, new in zip(tensors_in(self._inputs), tensors_in(inputs), strict=True):
                old.copy_(new)
        if not suffix:
            save(folder / trial.parameters_file, to_values([one.detach() for one in self._model.parameters()]))
        state = {name: value.clone() for name, value in self._model.state_dict().items()}
        with Operators() as operators:
            save(folder / (trial.output_file + suffix), to_values(self._run(trial)))
        pairs = zip(tensors_in(inputs), tensors_in(self._inputs), strict=True)
        changed = [i for i, (old, new) in enumerate(pairs) if not _same(old, new)]
        self._model.load_state_dict(state)
        if not suffix:
            save(folder / trial.again_file, to_values(self._run(trial)))
        if self._job.with_gradients and not suffix:
            self._model.load_state_dict(state)
            torch.manual_seed(trial.seed)
            save(folder / trial.gradients_file, to_values(gradients(self._model, self._inputs)))
        return {"operators": operators.names, "changed": changed}

    def _run(self, trial: Trial) -> Any:
        import torch

        torch.manual_seed(trial.seed)
        with torch.no_grad():
            result = self._model(*self._inputs)
        torch.cuda.synchronize()
        return result


def _same(one: Any, other: Any) -> bool:
    import torch

    return bool(torch.equal(one.cpu().view(-1).view(torch.uint8), other.cpu().contiguous().view(-1).view(torch.uint8)))


def _told(error: BaseException, answer: str) -> dict[str, Any]:
    trace = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in trace if frame.filename == answer]
    # As where others write to the cache below this process's own view of it.
    is_of_tools = isinstance(error, (OSError, CacheError, ToolchainError)) and trace[-1].filename.startswith(_TOOLS)
    place = f"{os.path.basename(answer)}:{frames[-1].lineno}" if frames else ""
    text = str(error) or type(error).__name__
    names = {kind.__name__ for kind in type(error).__mro__}
    kinds = {"build": "BuildError" in names, "tools": is_of_tools}
    return {"kind": type(error).__name__, "message": text[:20000], "place": place, **kinds}


if __name__ == "__main__":
    serve(_work)
