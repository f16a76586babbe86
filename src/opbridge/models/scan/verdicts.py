"""Results of a scan: plain data, without a framework."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from opbridge.models.scan.mindspore_names import shown


@dataclass(frozen=True)
class CallSite:
    """The place in the model at which an operator is called."""

    module: str
    """The path of the module from the model: `Net.encoder.0`; empty outside of one."""
    line: str
    """`model.py:31`."""

    def __str__(self) -> str:
        return f"{self.module}  {self.line}" if self.module else self.line


@dataclass
class ScannedOperator:
    """One operator in the form that returns new tensors, whichever form the model calls."""

    name: str
    """`aten::add.Tensor`; without a dot where the overload has no name."""
    schema: str
    place: CallSite
    """The place of the first call."""
    calls: int = 0
    dtypes: set[str] = field(default_factory=set)
    signatures: set[tuple[object, ...]] = field(default_factory=set)
    examples: list[Path] = field(default_factory=list)
    """Files with the arguments of calls that differ in more than their sizes."""

    @property
    def base(self) -> str:
        """The common name, without the overload: `aten::add`."""
        return self.name.partition(".")[0]


class State(Enum):
    """The state of an operator in a framework."""

    MISSING = "missing"
    FAILS = "fails"
    DIFFERS = "differs"
    ELSEWHERE = "only on Ascend"
    """The framework has no kernel for this device; `form` is the first call that fits the arguments."""
    NO_GRADIENT = "no gradient"
    UNTRIED = "not tried"
    """The name exists, but there are no arguments to call it with."""
    HAS = "has"

    @property
    def is_there(self) -> bool:
        """Whether the framework has the operator, as far as it was tried."""
        return self in (State.HAS, State.UNTRIED)

    @property
    def rank(self) -> int:
        """How near the state is to having the operator."""
        below = {State.MISSING: 0, State.FAILS: 1, State.DIFFERS: 1, State.ELSEWHERE: 2, State.NO_GRADIENT: 3}
        return below.get(self, 4)


@dataclass(frozen=True)
class Verdict:
    """The result for one operator in a framework: the state, the best path, and the reason."""

    state: State
    path: str = ""
    """`mint.nn.functional.linear`."""
    reason: str = ""
    form: int | None = None
    """The index of the call in `names.calls` that agrees, if it is the same for all examples."""

    def fields(self) -> dict[str, str]:
        """Return the verdict as fields for JSON."""
        return {"state": self.state.value, "path": shown(self.path) if self.path else "", "reason": self.reason}

    def __str__(self) -> str:
        if self.state is State.HAS:
            return shown(self.path)
        if self.state is State.MISSING:
            return "missing"
        return f"{self.state.value}: {', '.join(filter(None, (shown(self.path), self.reason)))}"
