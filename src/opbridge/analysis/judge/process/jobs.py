"""Define the jobs of the processes in a judgement, and the files in their folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opbridge.analysis.judge.answer.formats import AnswerFormat
from opbridge.analysis.judge.process.confinement import Cell
from opbridge.analysis.judge.task.formats import TaskFormat
from opbridge.analysis.judge.task.input_numbers import AS_DRAWN, LARGE, LARGEST
from opbridge.analysis.judge.task.shapes import PUBLISHED, Plan


@dataclass(frozen=True)
class ReferenceJob:
    """The job of the process that runs the reference."""

    reference: Path
    format: TaskFormat
    folder: Path
    plans: tuple[Plan, ...]
    seeds: tuple[int, ...]
    with_gradients: bool = False
    is_patient: bool = False
    """Whether to accept sizes that take long to judge."""


@dataclass(frozen=True)
class Trial:
    """One call of the reference and the answer."""

    number: int
    plan: Plan
    seed: int
    inputs: str
    """A description of the inputs."""
    operators: tuple[str, ...]
    """The PyTorch operators that the reference ran."""
    is_constant: bool = False
    """Whether the output of the task is the same for all inputs of these sizes."""
    elements: int = 0
    """The number of elements of the inputs."""
    numbers: str = AS_DRAWN
    """The kind of numbers in the inputs."""
    operations: float = 0.0
    """The arithmetic operations of the reference."""

    @property
    def only_refutes(self) -> bool:
        """Whether the trial can only show an answer wrong.

        Another constant is wrong, but the same constant need not be right, unless the sizes are published.
        """
        return self.is_constant and self.plan.kind != PUBLISHED

    @property
    def shown(self) -> str:
        """The inputs as reasons show them."""
        return f"{self.inputs} up to {LARGEST:g}" if self.numbers == LARGE else self.inputs

    @property
    def initial_file(self) -> str:
        """The file of the arguments that create the model."""
        return f"{self.number}.initial"

    @property
    def inputs_file(self) -> str:
        """The file of the inputs."""
        return f"{self.number}.inputs"

    @property
    def exact_file(self) -> str:
        """The file of the float64 output of the reference."""
        return f"{self.number}.exact"

    @property
    def rounded_file(self) -> str:
        """The file of the output of the reference in its own element types."""
        return f"{self.number}.rounded"

    @property
    def output_file(self) -> str:
        """The file of the output of the answer."""
        return f"{self.number}.output"

    @property
    def record(self) -> str:
        """The name of the records of calls."""
        return f"{self.number}.call"

    @property
    def writes_record(self) -> str:
        """The name of the record of the first call, with what was written to memory of the device."""
        return f"{self.number}.writes"

    @property
    def muted_record(self) -> str:
        """The name of the record of the call with muted kernels."""
        return f"{self.number}.writes.muted"

    @property
    def muted_file(self) -> str:
        """The file of the output of the call with muted kernels."""
        return f"{self.number}.output.muted"

    @property
    def others_file(self) -> str:
        """The file of what operators return in the call with muted kernels."""
        return f"{self.number}.others"

    @property
    def parameters_file(self) -> str:
        """The file of the parameters of the called model."""
        return f"{self.number}.parameters"

    @property
    def again_file(self) -> str:
        """The file of the output of the second call."""
        return f"{self.number}.again"

    @property
    def later_files(self) -> tuple[str, ...]:
        """The files of outputs of later calls: the first that differ from one another, and that of the fiftieth."""
        return tuple(f"{self.number}.later.{i}" for i in range(MOST_LATER + 1))

    @property
    def elsewhere_file(self) -> str:
        """The file of the output for the same inputs in other memory, with gradients enabled."""
        return f"{self.number}.elsewhere"

    @property
    def once_file(self) -> str:
        """The file of the output for inputs that the model has not met."""
        return f"{self.number}.once"

    @property
    def twice_file(self) -> str:
        """The file of the output for these inputs, after memory was given what it held before."""
        return f"{self.number}.twice"

    @property
    def state_file(self) -> str:
        """The file of parameters and buffers after a call; those of the reference end in `.exact` and `.rounded`."""
        return f"{self.number}.state"

    def other_file(self, check: str) -> str:
        """Return the file of what one of OTHER_CALLS returns; the reference has two, as of its state."""
        return f"{self.number}.{check}"

    @property
    def kept_file(self) -> str:
        """The file of the output as it is after the next trial of the same model, if there is one."""
        return f"{self.number}.kept"

    @property
    def gradients_file(self) -> str:
        """The file of the gradients of the answer; those of the reference end in `.exact` and `.rounded`."""
        return f"{self.number}.gradients"


@dataclass(frozen=True)
class AnswerJob:
    """The job of the process that runs an answer; building can start before the trials are known."""

    answer: Path
    format: AnswerFormat
    name: str
    """The class or function to load."""
    model_seed: int
    """The seed with which both models create their parameters."""
    with_gradients: bool
    given: Path
    """The folder of the inputs, which it can only read."""
    cell: Cell
    records: tuple[Path, Path] | None = None
    """The file for the records of the twin, and that of their key; the process opens both before it is confined."""


MOST_WRITES = 64 << 20
"""The most bytes that are kept of what is written to memory of the device."""
MOST_LATER = 4
"""The most outputs of later calls that are kept because they differ."""
MUTED = "muted"
"""The last call, with muted kernels, of the trial that shows the most."""


def telling(trials: tuple[Trial, ...]) -> Trial:
    """Return the trial that shows the most: the last one of the first sizes, except those that are constant or large.

    Its numbers have both signs, which even an in-place kernel changes. Large numbers are left out because they may
    make many outputs equal.
    """
    some = [trial for trial in trials if not trial.is_constant and trial.numbers != LARGE] or trials
    return [trial for trial in some if trial.plan == some[0].plan][-1]
