"""Summarize many errors with few causes, one line per cause."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opbridge.base.errors import InputError

_OWN = re.compile(r"'[^']*'|\b\w+::[\w.]+|^[\w.]+(?= (?:has|is|takes|returns|writes|delegates|inherits|calls)\b)")
"""The parts of a message that belong to one place: quoted texts and operator names."""


def by_cause(errors: Iterable[InputError]) -> tuple[str, ...]:
    """Return a line per cause, the commonest first, with the number of errors and the place of the first."""
    groups: dict[str, list[InputError]] = {}
    for error in errors:
        groups.setdefault(_OWN.sub("…", error.message), []).append(error)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(_line(cause, found) for cause, found in ordered)


def _line(cause: str, errors: list[InputError]) -> str:
    first = errors[0]
    if len(errors) == 1:
        return f"   1  {first.message}  ({first.where})"
    return f"{len(errors):4}  {cause}  (first at {first.where})"
