"""Define the results of a judgement: a verdict and its reasons. Printing to JSON and parsing are inverse."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from opbridge.base.errors import InputError

ALL_SHAPES, PUBLISHED_SHAPES, PUBLISHED_NUMBERS = "all shapes", "published shapes", "published numbers"
TRIED_SHAPES = "tried shapes"
"""What a right answer holds for if it was not compared at the published sizes."""
WHOLE, SIZES_ALONE, NOT_RUN = "whole", "sizes", "not run"
"""How the published sizes were run: compared as a whole, some blocks of each launch without numbers, or not at all."""
SIZES = "sizes"
"""The check for sizes: those tried cannot decide the answer."""
SHAPE = "shape"
"""The check for output shapes."""
VALUES, AGAIN, GRADIENTS = "values", "second call", "gradients"
"""The checks for numbers."""
STATE, WEIGHTS = "state", "weights"
"""The checks for buffers and parameters after a call, and for outputs after weights changed."""
MODE, MODELS = "mode", "models"
"""The checks for outputs in `eval()`, or in `train()` if the task is in the other, and of two models at a time."""
TIME, ENDLESS = "time", "endless"
"""The checks for time: the time limit was too short, or a kernel may never end."""
WORK = "work"
"""The check for the part of the work that kernels do."""
MACHINE = "machine"
"""The check for resources that this machine lacks."""
TO_COMPUTE = "compute from the arguments alone"
"""The hint for what an answer does besides computing."""


class Verdict(Enum):
    """The result of judging an answer."""

    RIGHT = "right"
    WRONG = "wrong"
    BROKEN = "broken"
    CHEATING = "cheating"
    UNDECIDED = "undecided"

    @property
    def exit_code(self) -> int:
        """The exit code of `opbridge judge`."""
        return {Verdict.RIGHT: 0, Verdict.UNDECIDED: 3}.get(self, 1)


_LONGEST = 4000
_MOVES_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, or the direction of text, or that no file can hold; not tabs and line ends."""


def harmless(text: str) -> str:
    """Return a text without characters that a terminal would obey, and not too long."""
    shown = _MOVES_TEXT.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]} ..."


@dataclass(frozen=True)
class Reason:
    """The finding of a check."""

    check: str
    message: str
    to_do: str = ""
    place: str = ""
    """FILE:LINE, if known."""
    shape: str = ""
    """The input sizes that show it."""
    seed: int | None = None

    def __post_init__(self) -> None:
        """Make the texts safe to show: an answer may have written them."""
        for name in ("check", "message", "to_do", "place", "shape"):
            object.__setattr__(self, name, harmless(getattr(self, name)))

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        shown = f"\n  with  {self.shape}, seed {self.seed}" if self.shape else ""
        message = self.message.replace("\n", "\n  ")  # no line of an answer's can be taken for one of the judge's
        return f"{where}{message} [{self.check}]{shown}" + (f"\n  hint  {self.to_do}" if self.to_do else "")


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons and what it is based on."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    holds_for: str = ""
    """What a right answer is right for; empty for other verdicts."""
    shapes: tuple[str, ...] = ()
    """The inputs on which the answer was compared with the reference."""
    seconds: float = 0.0
    published: str = NOT_RUN
    """How the published sizes were run: WHOLE, SIZES_ALONE or NOT_RUN."""
    compiled: bool = False
    """Whether the answer was built and its model was found."""
    shares: tuple[tuple[str, float], ...] = ()
    """For each of `shapes`, the part of the elements that are right, from 0 to 1; the least of its calls."""
    work: float | None = None
    """The part of the operations of the task that PyTorch's operators do not do in the answer, from 0 to 1.

    None if it was not measured.
    """
    seed: int | None = None
    """The seed that repeats the judgement; None if no inputs were drawn."""

    @property
    def wants_larger_sizes(self) -> bool:
        """Whether larger sizes could decide the answer."""
        return self.verdict is Verdict.UNDECIDED and any(reason.check == SIZES for reason in self.reasons)

    @property
    def wants_smaller_sizes(self) -> bool:
        """Whether the answer ran out of time or memory, so that smaller sizes could decide it."""
        is_large = any(reason.check in (TIME, ENDLESS, MACHINE) and reason.shape for reason in self.reasons)
        return is_large and self.verdict in (Verdict.WRONG, Verdict.UNDECIDED)

    @property
    def is_of_machine(self) -> bool:
        """Whether this machine is why there is no verdict, so that another try may have one."""
        return self.verdict is Verdict.UNDECIDED and any(reason.check == MACHINE for reason in self.reasons)

    def fields(self) -> dict[str, Any]:
        """Return the judgement as a dictionary for JSON."""
        fields = {**asdict(self), "verdict": self.verdict.value}
        fields["held"] = {"shapes": self.shapes, "published": fields.pop("published")}
        fields["graded"] = {"compiled": fields.pop("compiled"), "right": dict(fields.pop("shares"))}
        return fields

    def to_json(self) -> str:
        """Return the judgement as JSON; `parse` is the inverse."""
        return json.dumps(self.fields(), indent=2)

    @classmethod
    def parse(cls, text: str) -> Judgement:
        """Read the JSON that `to_json` wrote; raise InputError if it is something else."""
        try:
            fields = json.loads(text)
            reasons = tuple(Reason(**reason) for reason in fields.pop("reasons"))
            verdict, shapes = Verdict(fields.pop("verdict")), tuple(fields.pop("shapes"))
            held, graded = fields.pop("held"), fields.pop("graded")
            shares = tuple((str(shape), float(share)) for shape, share in graded["right"].items())
            found = cls(verdict, reasons, shapes=shapes, published=held["published"], **fields)
            return replace(found, compiled=graded["compiled"], shares=shares)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"this is not a verdict of `opbridge judge --json`: {error}") from None

    def __str__(self) -> str:
        lines = [str(reason) for reason in self.reasons]
        repeated = "" if self.seed is None else f" (--seed {self.seed})"
        return "\n".join((*lines, f"verdict: {self._summary()}{repeated}"))

    def _summary(self) -> str:
        if self.verdict is not Verdict.RIGHT:
            return str(self.verdict.value)
        if self.holds_for == ALL_SHAPES:
            return f"right, on {len(self.shapes)} inputs, for {ALL_SHAPES}"
        if self.holds_for == TRIED_SHAPES:
            return f"right, on {len(self.shapes)} inputs, for the {TRIED_SHAPES}"
        failing = next((reason.shape for reason in self.reasons if reason.shape), "")
        return f"right for the {self.holds_for} only" + (f"; fails at {failing}" if failing else "")
