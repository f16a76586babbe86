"""What an examination of a library ends with."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Problem:
    """Why a library cannot be used here."""

    what: str
    cure: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryPoint:
    """A function that somebody can call, or something that a library does when it is loaded."""

    kind: str
    name: str
    use: str
    """What to write to have it."""
    details: str = ""


@dataclass
class LibraryReport:
    path: str
    kind: str = "no shared library"
    needs: dict[str, str] = field(default_factory=dict)
    """What it asks of a machine, by what that is called."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entry_points: list[EntryPoint] = field(default_factory=list)
