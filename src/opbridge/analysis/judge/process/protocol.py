"""Check what the process of an answer says: only the messages of the worker, each in its turn and at most once.

The answer shares that process with the worker, so it can say anything. It gains nothing by what is accepted here that
its outputs do not bear out, and it cannot make the judge wait or fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opbridge.analysis.judge.process.jobs import MUTED
from opbridge.verify.check.child_messages import NonsenseError

_PHASES = (
    ("ready",),
    ("refused", "building"),
    ("built",),
    ("asks", "begun", "ran", "failed"),
    ("tampering",),
    ("muting",),
    ("muted",),
    ("done",),
    ("vast begins",),
    ("vast",),
)
"""The messages in their order; those of one phase come for each trial."""
_PHASE_OF = {kind: phase for phase, kinds in enumerate(_PHASES) for kind in kinds}
_OF_TRIALS = ("asks", "begun", "ran", "failed")


_Fields = dict[str, Callable[[object], bool]]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _is_count(value: object) -> bool:
    return type(value) is float and 0 <= value < float("inf")


def _is_true(value: object) -> bool:
    return value is True


def _all(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_reason(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != {"check", "message", "to_do", "place", "shape", "seed"}:
        return False
    seed = value.pop("seed")
    is_reason = all(map(_is_text, value.values())) and (seed is None or _is_number(seed))
    value["seed"] = seed
    return is_reason


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


_ERROR: _Fields = {"kind": _is_text, "message": _is_text, "place": _is_text, "build": _is_flag, "tools": _is_flag}


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and _fits(value, _ERROR)


_FIELDS: dict[str, _Fields] = {
    "ready": {"ready": _is_true},
    "refused": {"refused": _is_text},
    "building": {"begun": lambda value: value == "building"},
    "built": {"built": _is_true},
    "asks": {"asks": _is_number},
    "begun": {"begun": _is_number},
    "ran": {
        "ran": _is_number,
        "operators": _all(_is_text),
        "changed": _all(_is_number),
        "operations": _is_count,
        "calls": _is_number,
    },
    "failed": {"failed": _is_number, **_ERROR},
    "tampering": {"tampering": _all(_is_reason)},
    "muting": {"begun": lambda value: value == MUTED},
    "muted": {"muted": _is_true},
    "done": {"done": _is_true},
    "vast begins": {"begun": _is_number},
    "vast": {"vast": _is_error},
    "raised": {"raised": _is_error},
}


class Protocol:
    """The messages of a process up to now, and which may come next."""

    def __init__(self) -> None:
        self._phase = -1
        self._said: set[tuple[str, int | None]] = set()
        self._numbers: frozenset[int] = frozenset()
        self._vast: int | None = None
        self._allowed: set[int] = set()

    def hands_over(self, numbers: Iterable[int], vast: int | None) -> None:
        """Remember which trials the process was given."""
        self._numbers, self._vast = frozenset(numbers), vast

    def allows(self, number: int) -> None:
        """Remember that the process may run a trial that it asked for."""
        self._allowed.add(number)

    def check(self, said: dict[str, Any]) -> str:
        """Return the kind of a message; raise NonsenseError if the worker would not say it now."""
        kind = self._kind(said)
        number = next(iter(said.values())) if kind in (*_OF_TRIALS, "vast begins") else None
        if kind != "raised":
            self._turn(kind, number)
        if (kind, number) in self._said:
            raise NonsenseError(f"it repeats a message that may come once: {kind}")
        self._said.add((kind, number))
        return kind

    def _kind(self, said: dict[str, Any]) -> str:
        for kind, fields in _FIELDS.items():
            is_vast = kind == "vast begins"
            if _fits(said, fields) and is_vast == (kind in ("begun", "vast begins") and self._has_said("done")):
                return kind
        raise NonsenseError(f"it writes what no worker says: {', '.join(map(str, said))[:80]}")

    def _turn(self, kind: str, number: int | None) -> None:
        phase = _PHASE_OF[kind]
        is_behind = phase < self._phase or (phase == _PHASE_OF["refused"] and phase == self._phase)
        if is_behind or (phase > 0 and self._phase < 0) or (phase > 1 and not self._has_said("building")):
            raise NonsenseError(f"it says out of turn: {kind}")
        if phase > _PHASE_OF["built"] and not self._has_said("built"):
            raise NonsenseError(f"it says out of turn: {kind}")
        if kind in _OF_TRIALS:
            self._of_trial(kind, number)
        if kind == "tampering" and not self._has_all_calls():
            raise NonsenseError("it is done before all calls are over")
        if kind == "done" and not self._has_said("tampering"):
            raise NonsenseError("it is done before all calls are over")
        if kind == "vast begins" and number != self._vast:
            raise NonsenseError("it begins a call that was not requested")
        self._phase = phase

    def _of_trial(self, kind: str, number: int | None) -> None:
        if number not in self._numbers:
            raise NonsenseError("it names a call that was not requested")
        before = {"asks": True, "begun": number in self._allowed}.get(kind, ("begun", number) in self._said)
        if not before or (kind != "asks" and self._is_over(number)):
            raise NonsenseError(f"it says out of turn: {kind} {number}")

    def _has_all_calls(self) -> bool:
        has_asked = all(("asks", number) in self._said for number in self._numbers)
        return has_asked and all(map(self._is_over, self._allowed))

    def _is_over(self, number: int) -> bool:
        return ("ran", number) in self._said or ("failed", number) in self._said

    def _has_said(self, kind: str) -> bool:
        return (kind, None) in self._said


def _fits(said: dict[str, Any], fields: _Fields) -> bool:
    return said.keys() == fields.keys() and all(check(said[name]) for name, check in fields.items())
