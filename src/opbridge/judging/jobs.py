"""What the processes of a judgement are given to do, and what stands in their folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opbridge.judging.answer_formats import AnswerFormat
from opbridge.judging.confining import Cell
from opbridge.judging.drawing import AS_DRAWN, LARGE, LARGEST
from opbridge.judging.formats import TaskFormat
from opbridge.judging.shapes import PUBLISHED, Plan


@dataclass(frozen=True)
class ReferenceJob:
    reference: Path
    format: TaskFormat
    folder: Path
    plans: tuple[Plan, ...]
    seeds: tuple[int, ...]
    with_gradients: bool = False
    is_patient: bool = False
    """Whether sizes that take long to judge are better than none."""


@dataclass(frozen=True)
class Trial:
    """One call of both."""

    number: int
    plan: Plan
    seed: int
    inputs: str
    """In words."""
    operators: tuple[str, ...]
    """PyTorch's that the reference ran."""
    is_constant: bool = False
    """Whether the task gives the same for other inputs of these sizes."""
    elements: int = 0
    """Of its inputs."""
    numbers: str = AS_DRAWN
    """What stands in them."""

    @property
    def only_refutes(self) -> bool:
        """What gives another constant is wrong, and what gives this one need not be right, unless it is published."""
        return self.is_constant and self.plan.kind != PUBLISHED

    @property
    def shown(self) -> str:
        return f"{self.inputs} up to {LARGEST:g}" if self.numbers == LARGE else self.inputs

    @property
    def initial_file(self) -> str:
        return f"{self.number}.initial"

    @property
    def inputs_file(self) -> str:
        return f"{self.number}.inputs"

    @property
    def exact_file(self) -> str:
        return f"{self.number}.exact"

    @property
    def rounded_file(self) -> str:
        return f"{self.number}.rounded"

    @property
    def output_file(self) -> str:
        return f"{self.number}.output"

    @property
    def parameters_file(self) -> str:
        """Of the model with which it is called."""
        return f"{self.number}.parameters"

    @property
    def again_file(self) -> str:
        return f"{self.number}.again"

    @property
    def gradients_file(self) -> str:
        """Of the answer's; the reference's end in `.exact` and `.rounded`."""
        return f"{self.number}.gradients"


@dataclass(frozen=True)
class AnswerJob:
    """What can be built before it is known on which trials it will be called."""

    answer: Path
    format: AnswerFormat
    name: str
    """Of the class in it."""
    model_seed: int
    """With which both make their parameters."""
    with_gradients: bool
    cell: Cell


MUTED = "muted"
"""The last call, of the trial that tells most, with kernels that do nothing."""


def telling(trials: tuple[Trial, ...]) -> Trial:
    """The last of the first sizes: of numbers of both signs, which even a kernel in place changes, and which are none
    of those for which many outputs are the same."""
    some = [trial for trial in trials if not trial.is_constant and trial.numbers != LARGE] or trials
    return [trial for trial in some if trial.plan == some[0].plan][-1]
