"""Many errors of few causes, as one line a cause."""

from __future__ import annotations

import re
from collections.abc import Iterable

from opbridge.errors import InputError

_OWN = re.compile(r"'[^']*'|\b\w+::[\w.]+|^[\w.]+(?= (?:has|is|takes|returns|writes|delegates|inherits|calls)\b)")
"""What a message says of one place: quoted texts and names of operators."""


def by_cause(errors: Iterable[InputError]) -> tuple[str, ...]:
    """The commonest cause first, each with the number of its errors and the place of the first."""
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
