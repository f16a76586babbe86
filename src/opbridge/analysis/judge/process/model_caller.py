"""Call the model of an answer, and save what the judge compares."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

import torch

from opbridge.analysis.judge.process.gradients import gradients
from opbridge.analysis.judge.process.jobs import MOST_LATER, MOST_WRITES, AnswerJob, Trial
from opbridge.analysis.judge.process.model_state import restore_state, state_of
from opbridge.analysis.judge.process.operator_modes import Operators, Results
from opbridge.analysis.judge.process.other_calls import OTHER_CALLS, Models
from opbridge.analysis.judge.process.other_inputs import changed_inputs, run_elsewhere
from opbridge.analysis.judge.tensors import tensors_in, to_tensors, to_values
from opbridge.analysis.judge.values import arrays_of, bytes_of, load, save

_MOST_OF_OTHERS = 64 << 20
"""The bytes to keep of what operators return while kernels do nothing."""
_LATER, _SECONDS_OF_LATER_CALLS = 47, 2.0
"""The calls after the first three, up to the fiftieth, and the processor seconds that they may take."""


class Caller:
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
        self._held: list[tuple[int, Any]] = []
        """The outputs of later calls, and the hash of what each was."""
        self._counts: list[Operators] = []
        """What the operators did in each call of the trial."""

    def call(self, trial: Trial, *, is_recorded: bool) -> dict[str, Any]:
        """Call the model twice and save the outputs; return the operators that ran and the inputs that changed."""
        folder, inputs = self._job.cell.folder, self._prepare(trial)
        save(folder / trial.parameters_file, to_values([one.detach() for one in self._model.parameters()]))
        if is_recorded:  # earlier trials have moved its statistics, and the reference is made anew for each
            restore_state(self._model, self._initial)
        state, self._counts = state_of(self._model), []
        first = self._counted(trial, is_recorded=is_recorded)
        save(folder / trial.output_file, to_values(first))
        self._look_again(trial, first)
        pairs = zip(tensors_in(inputs), tensors_in(self._inputs), strict=True)
        changed = [i for i, (old, new) in enumerate(pairs) if not _same(old, new)]
        if is_recorded:
            save(folder / trial.state_file, to_values(state_of(self._model)))
        restore_state(self._model, state)
        save(folder / trial.again_file, to_values(self._counted(trial)))
        if is_recorded:
            self._call_later(trial, state)
            self._call_with_others(trial, state)
            self._call_otherwise(trial, state)
        if self._job.with_gradients:
            restore_state(self._model, state)
            torch.manual_seed(trial.seed)
            save(folder / trial.gradients_file, to_values(gradients(self._model, self._inputs)))
        names = max((counts.names for counts in self._counts), key=len)
        most = max(one.operations for one in self._counts)
        return {"operators": names, "changed": changed, "operations": most, "calls": len(self._counts)}

    def _counted(self, trial: Trial, *, is_recorded: bool = False) -> Any:
        """Call the model and count what operators do: any call may leave more to them than the others."""
        name, most = (trial.writes_record, MOST_WRITES) if is_recorded else (trial.record, 0)
        with Operators() as operators, self._job.format.device.recording(name, most):
            output = self._run(trial, self._model)
        self._counts.append(operators)
        return output

    def _call_with_others(self, trial: Trial, state: dict[str, Any]) -> None:
        """Call the model with the inputs in other memory, and with others twice, the second time as if anew.

        The first of these calls also prepares weights, which have just been written, if the model does so.
        """
        folder = self._job.cell.folder
        with suppress(Exception):
            restore_state(self._model, state)
            elsewhere = run_elsewhere(self._inputs, lambda inputs: self._called(trial, self._model, inputs))
            save(folder / trial.elsewhere_file, to_values(elsewhere))
        with suppress(Exception), changed_inputs(self._inputs, trial.seed):
            if self._job.format.device.keep_memory():
                save(folder / trial.once_file, to_values(self._run(trial, self._model)))
                self._job.format.device.take_back_memory()
                save(folder / trial.twice_file, to_values(self._run(trial, self._model)))
        restore_state(self._model, state)
        for known, output in self._held:
            if _hash_of(to_values(output)) != known:  # the calls with other inputs wrote to it
                save(folder / trial.kept_file, to_values(output))
        self._held = []

    def _call_otherwise(self, trial: Trial, state: dict[str, Any]) -> None:
        """Call the model in all other ways, and save the outputs; the next calls have the weights of before."""
        models = Models(self._model, lambda model: self._run(trial, model), lambda: self._made(trial))
        for check, call in OTHER_CALLS.items():
            restore_state(self._model, state)
            with suppress(Exception):  # the judge sees that there is no file
                save(self._job.cell.folder / trial.other_file(check), to_values(call(models)))
        restore_state(self._model, state)

    def _call_later(self, trial: Trial, state: dict[str, Any]) -> None:
        """Call the model for the fiftieth time; save the output, and those before it that differ from one another."""
        output, limit = None, time.process_time() + _SECONDS_OF_LATER_CALLS
        *files, last = (self._job.cell.folder / name for name in trial.later_files)
        seen: set[int] = set()
        for _ in range(_LATER):
            restore_state(self._model, state)
            if time.process_time() > limit:
                return
            made = self._counted(trial)
            output = to_values(made)
            known = _hash_of(output)
            if len(self._held) * bytes_of(output) < _MOST_OF_OTHERS:
                self._held.append((known, made))
            if known not in seen and len(seen) < MOST_LATER:
                save(files[len(seen)], output)
                seen.add(known)
        save(last, output)

    def _look_again(self, trial: Trial, output: Any) -> None:
        """Save what the output of the trial before is by now, and keep this one; views of inputs may change."""
        for before, kept in self._outputs:
            if not (self._job.cell.folder / before.kept_file).exists():
                save(self._job.cell.folder / before.kept_file, to_values(kept))
        given = {tensor.untyped_storage().data_ptr() for tensor in tensors_in(self._inputs)}
        is_own = all(tensor.untyped_storage().data_ptr() not in given for tensor in tensors_in(output))
        self._outputs = [(trial, output)] if is_own else []

    def call_once(self, trial: Trial) -> None:
        """Call the model, and save nothing."""
        self._prepare(trial)
        self._run(trial, self._model)

    def call_muted(self, trial: Trial) -> None:
        """Call the model while kernels do nothing; save its output, and what operators returned that may be one."""
        folder, _ = self._job.cell.folder, self._prepare(trial)
        sizes = {math.prod(array.shape) for array in arrays_of(load(folder / trial.output_file))}
        results = Results(sizes, _MOST_OF_OTHERS)
        try:
            with results, self._job.format.device.recording(trial.muted_record, MOST_WRITES):
                output = self._run(trial, self._model)
            save(folder / trial.muted_file, to_values(output))
        finally:
            save(folder / trial.others_file, results.kept)

    def _made(self, trial: Trial) -> Any:
        """Create the model of a plan with the weights that the reference has too."""
        initial = to_tensors(load(self._job.given / trial.initial_file), "cpu")
        torch.manual_seed(self._job.model_seed)
        return self._answer_of(*initial).to(self._job.format.device.name)

    def _prepare(self, trial: Trial) -> Any:
        """Create the model of a plan, and write the inputs to its memory; return the inputs."""
        device = self._job.format.device.name
        inputs = to_tensors(load(self._job.given / trial.inputs_file), device)
        if self._plan != trial.plan:
            self._plan, self._inputs = trial.plan, to_tensors(load(self._job.given / trial.inputs_file), device)
            self._model, self._outputs = self._made(trial), []
            self._initial = state_of(self._model)
        else:
            # Write new values to the same memory, to catch answers that cache results by address.
            for old, new in zip(tensors_in(self._inputs), tensors_in(inputs), strict=True):
                old.copy_(new)
        return inputs

    def _run(self, trial: Trial, model: Any) -> Any:
        with torch.no_grad():
            return self._called(trial, model, self._inputs)

    def _called(self, trial: Trial, model: Any, inputs: Any) -> Any:
        device = self._job.format.device
        torch.manual_seed(trial.seed)
        with device.telling():
            outputs = _plain(model(*inputs), device.name)
            device.use(tensors_in(outputs))
            return outputs


def _hash_of(output: Any) -> int:
    return hash(tuple(arrays_of(output)))


def _plain(outputs: Any, device: str) -> Any:
    """Return outputs; raise TypeError for one on the host, or of another class, which may compute when it is read."""
    for one in tensors_in(outputs):
        if one.dim() and one.device.type == "cpu" and device != "cpu":
            raise TypeError(f"it returns a tensor on the CPU instead of one on {device}")
        if type(one) not in (torch.Tensor, torch.nn.Parameter):
            raise TypeError(f"it returns a {type(one).__name__} instead of a torch.Tensor")
    return outputs


def _same(one: Any, other: Any) -> bool:
    return bool(torch.equal(one.cpu().view(-1).view(torch.uint8), other.cpu().contiguous().view(-1).view(torch.uint8)))
