"""Estimate what a task takes at some sizes from shapes alone, without drawing or computing numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opbridge.analysis.judge.task.problems import Problem
    from opbridge.analysis.profile.pytorch.operator_times import Call


@dataclass(frozen=True)
class Limits:
    """The most that checked kernels can process in reasonable time."""

    elements: int
    """The most elements of the inputs."""
    work: int
    """The most multiplications and additions in matrix products and windows."""

    def refusal_of_elements(self, count: int) -> str:
        """Return why so many input elements are too many; empty if they are not."""
        return f"{count} elements of inputs are too many for checked kernels" if count > self.elements else ""

    def refusal_of_work(self, count: int) -> str:
        """Return why so many operations are too many; empty if they are not."""
        return f"{count:.2g} operations are too many for checked kernels" if count > self.work else ""


def outline(made: Callable[[], Problem]) -> tuple[Problem, Any] | None:
    """Return the task and its inputs on the meta device; None if the task depends on numbers or is wrong."""
    import torch

    try:
        with torch.device("meta"), torch.no_grad():
            task = made()
            return task, task.inputs(list)
    except Exception:
        return None  # running the task will report it


def refusal(made: Callable[[], Problem], limits: Limits) -> str:
    """Return why the sizes are too large; empty if they are not, or if shapes alone cannot tell."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from opbridge.analysis.judge.tensors import tensors_in
    from opbridge.analysis.profile.pytorch.recurrent import Recurrent

    if (known := outline(made)) is None:
        return ""
    task, inputs = known
    if said := limits.refusal_of_elements(sum(tensor.numel() for tensor in tensors_in(inputs))):
        return said
    recurrent: list[Call] = []
    try:
        with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as work, Recurrent(recurrent.append):
            task.model(*inputs)
    except Exception:
        return ""
    return limits.refusal_of_work(work.get_total_flops() + int(sum(call.operations for call in recurrent)))
