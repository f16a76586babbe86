"""The settings and results of a check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from opbridge.waist.manifest.kernel_origins import TWINS

if TYPE_CHECKING:
    from opbridge.waist.op import Op

INPUTS = "inputs"
"""The row that replaces all others if no inputs were found."""

MANNERS = "manners"
"""The row about the state of the process; it also reports a kernel that ends the process."""

OF_MEMORY = ("bounds", "reads")
"""The rows whose failures may cause any other row to fail."""

CHECKS: Mapping[str, str] = {
    "bounds": "every element of an output is written, and nothing outside it",
    "reads": "nothing outside an input is read",
    MANNERS: "files, folder, environment, signals, locale, floating-point mode and processes stay what they were",
    "values": "results agree with the reference, or with NumPy's where there is none",
    "gradients": "analytic against numeric derivatives in float64, and what float32 makes of them",
    "opcheck": "torch.library.opcheck: schema, fake tensors, autograd registration, torch.compile",
    "dtypes": "every element type of the kernel: it runs, gives what `out` says, and agrees with float64",
    "shapes": "no elements, one, odd numbers of them, many, no dimensions",
    "precision": "float64 is computed in float64, and shorter floats stay near it over many elements",
    "specials": "NaN, infinities, denormals, -0.0: as the reference, alike in float32 and float64 and at every place",
    "strides": "transposed, stepped, reversed and broadcast tensors give what contiguous ones do",
    "aliasing": "inputs stay what they were unless the schema says otherwise; outputs have separate memory",
    "determinism": "the same inputs give the same bits every time, few elements and two million",
    "threads": "eight threads at once get what one gets",
    "memory": "10,000 calls, fewer of a slow operator, leak no memory",
    "vmap": "a batch equals a loop over its elements",
    "shard": "parts, joined by the `shard` rule, equal the whole",
}
"""All rows with their descriptions, in the order in which they are checked."""

SANITIZERS = ("address", "undefined", "thread")


class Status(str, Enum):
    """The result of one check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNCHECKED = "unchecked"
    """The operator ran, and there was nothing to compare its results with."""


RIGHT = {"float64": 1e-6, "float32": 2e-2}
"""The error at the best eps below which a formula counts as correct."""


@dataclass(frozen=True)
class Curve:
    """The error of the numeric derivative against eps, in one precision."""

    dtype: str
    eps: tuple[float, ...]
    errors: tuple[float, ...]
    """The error for each eps, relative to the derivative."""
    settled: float | None = None
    """The error that stays constant over many eps, as with a wrong formula; None if there is none."""

    @property
    def best(self) -> int:
        """The index of the eps at which truncation and rounding together are smallest."""
        return min(range(len(self.eps)), key=self.errors.__getitem__)


@dataclass(frozen=True)
class Row:
    """One line of the table: the result of one check of one operator in one framework."""

    operator: str
    framework: str
    check: str
    status: Status
    message: str
    """What was observed and, if the check failed, what to do."""
    device: str = "cpu"
    seconds: float = 0.0
    curves: tuple[Curve, ...] = ()
    """In the row `gradients`: the curves that --plot draws."""
    dtypes: tuple[tuple[str, Status], ...] = ()
    """In the row `dtypes`: the result for each element type; skipped if the framework lacks the type."""

    @property
    def failed(self) -> bool:
        """Whether the check failed."""
        return self.status is Status.FAILED

    def __str__(self) -> str:
        where = self.framework if self.device == "cpu" else f"{self.framework} on {self.device}"
        return f"{self.operator} {self.check} in {where} {self.status.value}: {self.message}"

    def fields(self) -> dict[str, Any]:
        """Return the row as values for JSON, which has no infinity; `of` is the inverse."""
        curves = [
            {**asdict(curve), "errors": [None if error == math.inf else error for error in curve.errors]}
            for curve in self.curves
        ]
        dtypes = {name: status.value for name, status in self.dtypes}
        return {**asdict(self), "status": self.status.value, "curves": curves, "dtypes": dtypes}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Row:
        """Return the row for values from `fields`."""
        curves = tuple(
            Curve(
                curve["dtype"],
                tuple(curve["eps"]),
                tuple(math.inf if error is None else error for error in curve["errors"]),
                curve["settled"],
            )
            for curve in fields["curves"]
        )
        dtypes = tuple((name, Status(status)) for name, status in fields["dtypes"].items())
        return cls(**{**fields, "status": Status(fields["status"]), "curves": curves, "dtypes": dtypes})


@dataclass(frozen=True)
class Reference:
    """The reference of a comparison."""

    kind: str
    """One of device, aten and python."""
    name: str
    """A device, an operator as aten::name, or a function as module:name or path.py:name."""

    def __str__(self) -> str:
        if self.kind == "device":
            return f"the kernel for {self.name}"
        return self.name.rpartition("/")[2]


@dataclass(frozen=True)
class Settings:
    """The settings of one check."""

    reference: Reference | None = None
    seed: int = 0
    checks: tuple[str, ...] = tuple(CHECKS)
    sanitizers: tuple[str, ...] = ()
    device: str = "cpu"
    patience: float = 60.0
    """The time limit for one input, in seconds."""

    @property
    def tensors(self) -> str:
        """The device of the tensors for which the kernels of `device` are called."""
        return "cpu" if self.device in TWINS else self.device


@dataclass(frozen=True)
class OperatorChecks:
    """The checks of one operator in one framework for a worker to run."""

    op: Op
    operator: str
    framework: str
    checks: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
