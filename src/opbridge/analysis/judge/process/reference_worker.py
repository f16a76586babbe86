"""Run the process of a reference: draw inputs, and compute outputs in float64 and as the reference does.

It is confined like an answer, because a task may come from a stranger too.
"""

from __future__ import annotations

import copy
import os
import warnings
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from opbridge.analysis.judge.process.confinement import Cell, enter
from opbridge.analysis.judge.process.jobs import ReferenceJob, Trial
from opbridge.analysis.judge.task.estimate import Limits, outline, refusal
from opbridge.analysis.judge.task.formats import config_of, settings_of
from opbridge.analysis.judge.task.input_numbers import LARGE, change_of, drawn
from opbridge.analysis.judge.task.shapes import KEPT, LOOSE, ODD_ONES, PUBLISHED, Plan, patient
from opbridge.analysis.judge.task.sizes import with_sizes
from opbridge.base.errors import InputError, UnsupportedError
from opbridge.build.cache import Cache
from opbridge.verify.check.child_process import Say, serve

if TYPE_CHECKING:
    from opbridge.analysis.judge.task.problems import Problem

_LIMITS = Limits(1 << 22, 1 << 27)
"""The limits for sizes that are called about ten times in total."""
_LONG_LIMITS = Limits(1 << 24, 1 << 28)
"""The limits for long sizes, which have many rows."""
_PUBLISHED_LIMITS = Limits(1 << 22, 1 << 29)
_LAST_LIMITS = Limits(1 << 25, 1 << 31)
_MOST_LIMITS = Limits(1 << 25, 1 << 36)
"""The limits of patient runs: usually PyTorch computes much of such a task in answers too."""


def _work(jobs: list[ReferenceJob], say: Say) -> None:
    (job,) = jobs
    # Confine the process first: this works only while it has one thread.
    try:
        enter(Cell(job.folder, Cache().root, shown=(job.reference, config_of(job.reference))))
    except UnsupportedError as error:
        say(refused=str(error))
        return
    os.environ["TMPDIR"] = str(job.folder)
    warnings.simplefilter("ignore")
    source = job.reference.read_text(encoding="utf-8")
    number = 0
    tried: set[str] = set()
    constant: list[dict[str, Any]] = []
    for plan in patient(job.plans) if job.is_patient else job.plans:
        if is_needless(plan, tried):
            continue
        say(begun=str(plan))
        limits = limits_of(plan, tried, is_patient=job.is_patient)
        try:
            made = _trials(job, source, plan, number, limits)
        except Exception as error:
            if plan.kind != PUBLISHED or number:
                continue
            if not _is_of_memory(error):
                to_do = f"; pip install {error.name}" if isinstance(error, ModuleNotFoundError) else ""
                say(bad_task=f"{type(error).__name__}: {error}{to_do}")
                return
            made = "the reference takes more memory than this machine gives it"
        if isinstance(made, str):
            say(left_out=[str(plan), made])
            if plan.kind == PUBLISHED and not job.is_patient and (vast := _vast(job, source, number)):
                say(vast={**vast, "plan": job.plans.index(plan), "seed": job.seeds[0]})
                number += 1
            continue
        number += len(made)
        if made[0]["is_constant"] and plan.kind != PUBLISHED:
            say(
                left_out=[
                    str(plan),
                    "the reference's output is the same for all inputs, and any constant would be right",
                ]
            )
            constant = constant or made
            continue
        for trial in made:
            say(trial=trial)
        tried.add(plan.kind)
    # Use constant trials for want of others: an answer with another constant is wrong.
    for trial in constant if not tried else ():
        say(trial=trial)
    say(done=True)


def _is_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def limits_of(plan: Plan, tried: set[str], *, is_patient: bool) -> Limits:
    """Return the limits for a plan.

    If smaller sizes were tried already, the published ones get lower limits: they are not worth a call that may
    never end.
    """
    is_enough = plan.kind == PUBLISHED and bool(tried)
    if is_patient and not is_enough:
        return _MOST_LIMITS
    if is_patient or plan.is_last_resort:
        return _LAST_LIMITS
    if plan.kind == PUBLISHED:
        return _PUBLISHED_LIMITS
    return _LONG_LIMITS if plan.is_long else _LIMITS


def is_needless(plan: Plan, tried: set[str]) -> bool:
    """Return whether the plans already tried make this one needless.

    One plan of a kind is enough, except for long ones, where each makes another dimension long; long ones need
    another plan that worked. Loosely shrunk plans, which may be too small, serve only for want of others.
    """
    has_others = bool(tried.difference(ODD_ONES))
    if plan.is_long:
        return not has_others
    if plan.kind == KEPT and has_others:
        return True
    return plan.kind in tried or (plan.kind == LOOSE and has_others) or (plan.is_last_resort and LOOSE in tried)


def _trials(job: ReferenceJob, source: str, plan: Plan, number: int, limits: Limits) -> list[dict[str, Any]] | str:
    import torch

    from opbridge.analysis.judge.task.problems import problem
    from opbridge.analysis.judge.tensors import tensors_in
    from opbridge.analysis.judge.values import load
    from opbridge.analysis.judge.verdict.differences import is_same_result

    settings = {**settings_of(job.reference), **dict(plan.sizes)} if job.format.hands_functions else {}

    def made_anew() -> Problem:
        return problem(job.format, _module(job, source, plan), settings, job.seeds[0])

    if too_large := refusal(made_anew, limits):
        return too_large
    task = made_anew()
    made: list[dict[str, Any]] = []
    is_constant = False
    is_short = plan.is_small and not (job.is_patient or plan.is_last_resort)
    for seed, numbers in drawn(plan, job.seeds, is_short):
        torch.manual_seed(seed)
        inputs = task.inputs(change_of(numbers))
        if plan.is_of_images and max((tensor.dim() for tensor in tensors_in(inputs)), default=0) < 4:
            return "batches are tiles here"
        sizes = sum(tensor.numel() for tensor in tensors_in(inputs))
        if too_large := limits.refusal_of_elements(sizes):
            return too_large
        outcome = _run(job, number + len(made), task, inputs, seed, has_state=plan.is_small)
        if outcome is None or (numbers == LARGE and not outcome["is_finite"]):
            if made:
                continue
            return "the reference gives nothing finite"
        if too_large := limits.refusal_of_work(outcome["work"]):
            return too_large
        made.append({**outcome, "plan": job.plans.index(plan), "seed": seed, "elements": sizes, "numbers": numbers})
    usual = [trial for trial in made if trial["numbers"] != LARGE]
    if len(usual) > 1:
        one, other = (load(job.folder / f"{outcome['number']}.exact") for outcome in (usual[0], usual[-1]))
        is_constant = is_same_result(other, one, load(job.folder / f"{made[0]['number']}.rounded"))
    made = [{**trial, "is_constant": is_constant} for trial in made]
    return made[:1] if plan.is_odd or plan.is_long else made


def _vast(job: ReferenceJob, source: str, number: int) -> dict[str, Any] | None:
    """Save the sizes of the published inputs; return None if numbers in the inputs may control the kernels."""
    import torch

    from opbridge.analysis.judge.task.problems import problem
    from opbridge.analysis.judge.tensors import tensors_in, to_values
    from opbridge.analysis.judge.values import arrays_of, save

    if job.format.hands_functions:
        return None
    known = outline(lambda: problem(job.format, _module(job, source, Plan(PUBLISHED)), {}, job.seeds[0]))
    if known is None or not all(tensor.is_meta and tensor.is_floating_point() for tensor in tensors_in(known[1])):
        return None
    task, inputs = known
    given = to_values(inputs)
    trial = Trial(number, Plan(""), 0, ", ".join(map(str, arrays_of(given))), ())
    try:
        save(job.folder / trial.inputs_file, given)
        save(job.folder / trial.initial_file, to_values(task.initial))
    except InputError:
        return None  # the arguments of the model cannot be sent to another process
    with suppress(Exception), torch.no_grad():
        save(job.folder / trial.exact_file, to_values(task.model(*inputs)))
    return {"number": number, "inputs": trial.inputs, "operators": []}


def _module(job: ReferenceJob, source: str, plan: Plan) -> Any:
    from types import ModuleType

    module = ModuleType("reference")
    module.__file__ = str(job.reference)
    exec(
        compile(
            source if job.format.hands_functions else with_sizes(source, dict(plan.sizes)), str(job.reference), "exec"
        ),
        module.__dict__,
    )
    return module


def _run(
    job: ReferenceJob, number: int, task: Problem, inputs: Any, seed: int, *, has_state: bool
) -> dict[str, Any] | None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from opbridge.analysis.judge.process.operator_modes import Operators
    from opbridge.analysis.judge.tensors import tensors_in, to_values, widened
    from opbridge.analysis.judge.values import arrays_of, save

    model, given = task.model, to_values(inputs)
    own, wide, wide_inputs = copy.deepcopy(model), copy.deepcopy(model).double(), widened(copy.deepcopy(inputs))
    torch.manual_seed(seed)
    with torch.no_grad(), FlopCounterMode(display=False) as work, Operators() as operators:
        rounded = own(*inputs)
    torch.manual_seed(seed)
    try:
        with torch.no_grad():
            exact = wide(*wide_inputs)
    except RuntimeError:
        exact = widened(rounded)  # the model creates float32 tensors itself
    tensors = tensors_in(exact)
    if not tensors or not all(bool(torch.isfinite(tensor).any()) for tensor in tensors if tensor.numel()):
        return None
    trial = Trial(number, Plan(""), seed, ", ".join(map(str, arrays_of(given))), ())
    for name, value in (
        (trial.initial_file, to_values(task.initial)),
        (trial.parameters_file, to_values([parameter.detach() for parameter in model.parameters()])),
        (trial.inputs_file, given),
        (trial.exact_file, to_values(exact)),
        (trial.rounded_file, to_values(rounded)),
    ):
        save(job.folder / name, value)
    if has_state:
        _save_states(job, trial, own, wide)
        _save_other_calls(job, trial, model, (inputs, wide_inputs))
    if job.with_gradients:
        for kind, of, given_inputs in (("exact", wide, wide_inputs), ("rounded", copy.deepcopy(model), inputs)):
            save(job.folder / f"{trial.gradients_file}.{kind}", to_values(_gradients(of, given_inputs)))
    is_finite = all(bool(torch.isfinite(tensor).all()) for tensor in tensors_in(rounded))
    told = {"number": number, "inputs": trial.inputs, "operators": operators.names, "is_finite": is_finite}
    return {**told, "work": work.get_total_flops(), "operations": operators.operations}


def _save_states(job: ReferenceJob, trial: Trial, own: Any, wide: Any) -> None:
    """Save parameters and buffers after a call of the model, and of the model in float64."""
    from opbridge.analysis.judge.process.model_state import state_of
    from opbridge.analysis.judge.tensors import to_values
    from opbridge.analysis.judge.values import save

    for kind, model in (("exact", wide), ("rounded", own)):
        save(job.folder / f"{trial.state_file}.{kind}", to_values(state_of(model)))


def _save_other_calls(job: ReferenceJob, trial: Trial, model: Any, inputs: tuple[Any, Any]) -> None:
    """Save the outputs of all OTHER_CALLS that the task has finite outputs for."""
    import torch

    from opbridge.analysis.judge.process.other_calls import OTHER_CALLS, Models
    from opbridge.analysis.judge.tensors import tensors_in, to_values
    from opbridge.analysis.judge.values import save

    for check, call in OTHER_CALLS.items():
        outputs: list[Any] = []
        for of, given in ((copy.deepcopy(model).double(), inputs[1]), (copy.deepcopy(model), inputs[0])):

            def run(one: Any, given: Any = given) -> Any:
                torch.manual_seed(trial.seed)
                return one(*given)

            with suppress(RuntimeError), torch.no_grad():
                outputs.append(call(Models(of, run, partial(copy.deepcopy, of))))
        found = [one for one in outputs if one is not None]
        if len(found) == 2 and all(bool(torch.isfinite(tensor).all()) for tensor in tensors_in(found)):
            for kind, output in zip(("exact", "rounded"), found, strict=True):
                save(job.folder / f"{trial.other_file(check)}.{kind}", to_values(output))


def _gradients(model: Any, inputs: Any) -> dict[str, Any]:
    """Return the gradients by name; empty if the outputs have none, such as the index of the largest number."""
    from opbridge.analysis.judge.process.gradients import gradients

    try:
        return gradients(model, inputs)
    except RuntimeError:
        return {}


if __name__ == "__main__":
    serve(_work)
