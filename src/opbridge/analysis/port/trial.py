"""Define what is compared, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from opbridge.verify.check.inputs import Case, Form
from opbridge.waist.manifest import OpSpec
from opbridge.waist.manifest.samples import TensorSample
from opbridge.waist.schema import Schema

ORIGINAL, PORT = "original", "port"
SIDES: Mapping[str, str] = {ORIGINAL: "cuda-twin", PORT: "ascend-twin"}
"""The original kernel and its port, each with the twin that runs it."""


@dataclass(frozen=True)
class Pair:
    """An operator with a kernel of each side."""

    specs: tuple[OpSpec, ...]
    """The declaration; several with different output shapes if the user gave none."""
    shapes: str | None = None
    """The dimensions of inputs and outputs by name, if the user gave them."""

    @property
    def schema(self) -> Schema:
        """The operator schema, which all declarations share."""
        return self.specs[0].schema


def of_side(spec: OpSpec, side: str) -> OpSpec:
    """Return the declaration with the kernel of one side only, so that no environment variable selects another."""
    return replace(spec, kernels=tuple(one for one in spec.kernels if one.device == SIDES[side]))


@dataclass(frozen=True)
class Settings:
    """The options of a comparison."""

    seed: int = 0
    dtypes: tuple[str, ...] = ()
    """The element types to run; if empty, all that both kernels support."""
    tolerance: float | None = None
    """The tolerance relative to the largest value; None for the default of the element type."""
    patience: float = 60.0
    """The time limit of one input, in seconds."""


class Status(str, Enum):
    """The result of comparing both kernels on one input."""

    SAME = "same"
    DIFFERS = "differs"
    BROKEN = "broken"
    """A twin found a mistake, or a kernel failed."""
    REFUSED = "refused"
    """Both kernels refused the input with an error message."""


@dataclass(frozen=True)
class Difference:
    """The first element that differs, and how many do."""

    output: int
    dtype: str
    index: tuple[int, ...]
    original: str
    port: str
    differing: int
    elements: int
    largest: float | None
    """The largest difference; None if one is not finite."""
    writer: str | None = None
    """The block and instruction of the port that wrote the first element; None if nothing wrote it."""


@dataclass(frozen=True)
class Outcome:
    """The result for one input."""

    status: Status
    dtype: str
    inputs: str
    shapes: Mapping[str, tuple[int, ...]]
    seed: int
    side: str | None = None
    """The kernel that is broken, or "both"."""
    message: str = ""
    difference: Difference | None = None

    @property
    def is_good(self) -> bool:
        """Whether the kernels agree: both give the same results, or both refuse the input."""
        return self.status in (Status.SAME, Status.REFUSED)

    def fields(self) -> dict[str, Any]:
        """Return the outcome as a dictionary for JSON; `of` is the inverse."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Outcome:
        """Build an outcome from the dictionary that `fields` returns."""
        said = fields["difference"]
        shapes = {name: tuple(shape) for name, shape in fields["shapes"].items()}
        difference = said and Difference(**{**said, "index": tuple(said["index"])})
        return cls(**{**fields, "status": Status(fields["status"]), "shapes": shapes, "difference": difference})


@dataclass(frozen=True)
class Run:
    """One input for both kernels."""

    spec: OpSpec
    case: Case
    dtype: str
    settings: Settings

    def outcome(self, status: Status, **rest: Any) -> Outcome:
        """Build the outcome of this input."""
        shapes = {name: one.shape for name, one in self.case.arguments.items() if isinstance(one, TensorSample)}
        return Outcome(status, self.dtype, str(self.case), shapes, self.settings.seed, **rest)


@dataclass(frozen=True)
class Trial:
    """An input that the original may accept, with outputs that it may fill; only running it can tell."""

    spec: OpSpec
    case: Case
    form: Form
    """The dimensions of its tensors; empty if only samples define them."""
    settings: Settings
    low_high: tuple[float, float] | None = None
    """The range to draw floats from."""
