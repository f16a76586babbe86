"""What a scan finds: plain data, without a framework."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from opbridge.scan.names import shown


@dataclass(frozen=True)
class Place:
    """Where in the model an operator is called."""

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
    place: Place
    """Of the first call."""
    calls: int = 0
    dtypes: set[str] = field(default_factory=set)
    signatures: set[tuple[object, ...]] = field(default_factory=set)
    examples: list[Path] = field(default_factory=list)
    """Files with the arguments of calls that differ in more than their sizes."""

    @property
    def base(self) -> str:
        """The name without its overload, as people say it: `aten::add`."""
        return self.name.partition(".")[0]


class State(Enum):
    """What MindSpore makes of an operator."""

    MISSING = "missing"
    FAILS = "fails"
    DIFFERS = "differs"
    NO_GRADIENT = "no gradient"
    UNTRIED = "not tried"
    """There by name, and nothing to call it with."""
    HAS = "has"

    @property
    def is_there(self) -> bool:
        return self in (State.HAS, State.UNTRIED)

    @property
    def rank(self) -> int:
        """How near it is to having the operator."""
        return {State.MISSING: 0, State.FAILS: 1, State.DIFFERS: 1, State.NO_GRADIENT: 2}.get(self, 3)


@dataclass(frozen=True)
class Verdict:
    state: State
    path: str = ""
    """`mint.nn.functional.linear`."""
    reason: str = ""
    form: int | None = None
    """Which of `names.calls` it agrees by, if one for all examples."""

    def fields(self) -> dict[str, str]:
        return {"state": self.state.value, "path": shown(self.path) if self.path else "", "reason": self.reason}

    def __str__(self) -> str:
        if self.state is State.HAS:
            return shown(self.path)
        if self.state is State.MISSING:
            return "missing"
        return f"{self.state.value}: {', '.join(filter(None, (shown(self.path), self.reason)))}"
