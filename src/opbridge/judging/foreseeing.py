"""What a task would take at some sizes, by shapes alone: nothing is drawn and nothing computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opbridge.costs.pytorch.timing import Call
    from opbridge.judging.problems import Problem


@dataclass(frozen=True)
class Limits:
    """What checked kernels take in seconds."""

    elements: int
    """Of inputs."""
    work: int
    """Products and sums in matrices and windows."""

    def refusal_of_elements(self, count: int) -> str:
        return f"{count} elements of inputs are too many for checked kernels" if count > self.elements else ""

    def refusal_of_work(self, count: int) -> str:
        return f"{count:.2g} operations are too many for checked kernels" if count > self.work else ""


def outline(made: Callable[[], Problem]) -> tuple[Problem, Any] | None:
    """A task and its inputs, of which there are sizes alone; None where it looks at numbers, or is wrong."""
    import torch

    try:
        with torch.device("meta"), torch.no_grad():
            task = made()
            return task, task.inputs(list)
    except Exception:
        return None  # which its run will tell


def refusal(made: Callable[[], Problem], limits: Limits) -> str:
    """Why the sizes are too large; empty where they are not, or where a task cannot say so by shapes alone."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from opbridge.costs.pytorch.recurrent import Recurrent
    from opbridge.judging.tensors import tensors_in

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
