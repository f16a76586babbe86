"""What is compared, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from opbridge.check.inputs import Case, Form
from opbridge.manifest import OpSpec
from opbridge.manifest.samples import TensorSample
from opbridge.schema import Schema

ORIGINAL, PORT = "original", "port"
SIDES: Mapping[str, str] = {ORIGINAL: "cuda-twin", PORT: "ascend-twin"}
"""The kernel that was there first and the one that was made of it, each with the twin that runs it."""


@dataclass(frozen=True)
class Pair:
    """An operator with a kernel of each."""

    specs: tuple[OpSpec, ...]
    """The declaration; several that differ in the shapes of the outputs, where nobody has said those."""
    shapes: str | None = None
    """The dimensions of inputs and outputs by name, where they were said."""

    @property
    def schema(self) -> Schema:
        return self.specs[0].schema


def of_side(spec: OpSpec, side: str) -> OpSpec:
    """With that side's kernel alone, so that nothing of the environment chooses another."""
    return replace(spec, kernels=tuple(one for one in spec.kernels if one.device == SIDES[side]))


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    dtypes: tuple[str, ...] = ()
    """The element types to run; all that both kernels have where none is named."""
    tolerance: float | None = None
    """Of the largest value; that of the element type where it is not given."""
    patience: float = 60.0
    """Seconds for one input."""


class Status(str, Enum):
    SAME = "same"
    DIFFERS = "differs"
    BROKEN = "broken"
    """A twin has found a mistake, or a kernel has failed."""
    REFUSED = "refused"
    """By both kernels, in words of their own."""


@dataclass(frozen=True)
class Difference:
    """Where two results part."""

    output: int
    dtype: str
    index: tuple[int, ...]
    original: str
    port: str
    differing: int
    elements: int
    largest: float | None
    """Of the differences; None where one of the values is no number."""
    writer: str | None = None
    """The port's block and instruction that have written the first; None where none has."""


@dataclass(frozen=True)
class Outcome:
    """Of one input."""

    status: Status
    dtype: str
    inputs: str
    shapes: Mapping[str, tuple[int, ...]]
    seed: int
    side: str | None = None
    """The kernel that is broken."""
    message: str = ""
    difference: Difference | None = None

    @property
    def is_good(self) -> bool:
        return self.status in (Status.SAME, Status.REFUSED)

    def fields(self) -> dict[str, Any]:
        """For JSON; `of` is its inverse."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Outcome:
        said = fields["difference"]
        shapes = {name: tuple(shape) for name, shape in fields["shapes"].items()}
        difference = said and Difference(**{**said, "index": tuple(said["index"])})
        return cls(**{**fields, "status": Status(fields["status"]), "shapes": shapes, "difference": difference})


@dataclass(frozen=True)
class Run:
    """One input for both."""

    spec: OpSpec
    case: Case
    dtype: str
    settings: Settings

    def outcome(self, status: Status, **rest: Any) -> Outcome:
        shapes = {name: one.shape for name, one in self.case.arguments.items() if isinstance(one, TensorSample)}
        return Outcome(status, self.dtype, str(self.case), shapes, self.settings.seed, **rest)


@dataclass(frozen=True)
class Trial:
    """An input that the original may take, and outputs that it may fill; which shows by running it."""

    spec: OpSpec
    case: Case
    form: Form
    """The dimensions of its tensors; empty where samples alone say how they are."""
    settings: Settings
    low_high: tuple[float, float] | None = None
    """Where floats are drawn from."""
