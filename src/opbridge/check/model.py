"""What a check is asked for and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from opbridge.manifest.kernels import TWINS

INPUTS = "inputs"
"""The row there is instead of all others where no inputs were found."""

MANNERS = "manners"
"""The row of what ends its process, too."""

OF_MEMORY = ("bounds", "reads")
"""The rows of what may be why any other fails."""

CHECKS: Mapping[str, str] = {
    "bounds": "every element of an output is written, and nothing beside it",
    "reads": "nothing beside an input is read",
    MANNERS: "files, folder, environment, signals, locale, floating-point mode and processes stay what they were",
    "values": "results agree with the reference, or with NumPy's where there is none",
    "gradients": "analytic against numeric derivatives in float64, and what float32 makes of them",
    "opcheck": "torch.library.opcheck: schema, fake tensors, autograd registration, torch.compile",
    "dtypes": "every element type of the kernel: it runs, gives what `out` says, and agrees with float64",
    "shapes": "no elements, one, odd numbers of them, many, no dimensions",
    "precision": "float64 is computed in float64, and shorter floats stay near it over many elements",
    "specials": "NaN, infinities, denormals, -0.0: as the reference, alike in float32 and float64 and at every place",
    "strides": "transposed, stepped, reversed and broadcast tensors give what contiguous ones do",
    "aliasing": "inputs stay what they were unless the schema says otherwise; outputs are memory of their own",
    "determinism": "the same inputs give the same bits every time, few elements and two million",
    "threads": "eight threads at once get what one gets",
    "memory": "10,000 calls, fewer of a slow operator, leave no memory behind",
    "vmap": "a batch gives what a loop over it gives",
    "shard": "parts, put together as the `shard` rule says, give what the whole gives",
}
"""Every row there is, in the order it is checked in."""

SANITIZERS = ("address", "undefined", "thread")


class Status(str, Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNCHECKED = "unchecked"
    """The operator ran, and there was nothing to compare its results with."""


RIGHT = {"float64": 1e-6, "float32": 2e-2}
"""The error at the best eps that a right formula stays below."""


@dataclass(frozen=True)
class Curve:
    """The error of the numeric derivative against eps, in one precision."""

    dtype: str
    eps: tuple[float, ...]
    errors: tuple[float, ...]
    """Relative to the derivative; beside each eps."""
    settled: float | None = None
    """The error that it keeps over many eps, as a wrong formula's does; None where there is none."""

    @property
    def best(self) -> int:
        """The place of the eps where truncation and rounding together are least."""
        return min(range(len(self.eps)), key=self.errors.__getitem__)


@dataclass(frozen=True)
class Row:
    """One line of the table: one check of one operator in one framework."""

    operator: str
    framework: str
    check: str
    status: Status
    message: str
    """What was seen; where the check failed, what to do too."""
    device: str = "cpu"
    seconds: float = 0.0
    curves: tuple[Curve, ...] = ()
    """Of the row `gradients`: what --plot draws."""
    dtypes: tuple[tuple[str, Status], ...] = ()
    """Of the row `dtypes`: each element type; skipped are those that the framework has not got."""

    @property
    def failed(self) -> bool:
        return self.status is Status.FAILED

    def __str__(self) -> str:
        where = self.framework if self.device == "cpu" else f"{self.framework} on {self.device}"
        return f"{self.operator} {self.check} in {where} {self.status.value}: {self.message}"

    def fields(self) -> dict[str, Any]:
        """For JSON, which has no infinity; `of` is its inverse."""
        curves = [
            {**asdict(curve), "errors": [None if error == math.inf else error for error in curve.errors]}
            for curve in self.curves
        ]
        dtypes = {name: status.value for name, status in self.dtypes}
        return {**asdict(self), "status": self.status.value, "curves": curves, "dtypes": dtypes}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Row:
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
    """What results are held against."""

    kind: str
    """device, aten or python."""
    name: str
    """A device; an operator as aten::name; a function as module:name or path.py:name."""

    def __str__(self) -> str:
        if self.kind == "device":
            return f"the kernel for {self.name}"
        return self.name.rpartition("/")[2]


@dataclass(frozen=True)
class Settings:
    reference: Reference | None = None
    seed: int = 0
    checks: tuple[str, ...] = tuple(CHECKS)
    sanitizers: tuple[str, ...] = ()
    device: str = "cpu"
    patience: float = 60.0
    """Seconds for one input."""

    @property
    def tensors(self) -> str:
        """Where tensors are whose calls go to the kernels of `device`."""
        return "cpu" if self.device in TWINS else self.device


@dataclass(frozen=True)
class OperatorChecks:
    """The checks of one operator in one framework that a worker is to run."""

    op: Any
    operator: str
    framework: str
    checks: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
