"""The result of examining a library."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Problem:
    """A reason why a library cannot be used here."""

    what: str
    cure: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class EntryPoint:
    """A function to call, or something that a library does when it is loaded."""

    kind: str
    name: str
    use: str
    """The code that uses it."""
    details: str = ""


@dataclass
class LibraryReport:
    """The result of examining a library."""

    path: str
    kind: str = "no shared library"
    needs: dict[str, str] = field(default_factory=dict)
    """The requirements on the machine, by name."""
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entry_points: list[EntryPoint] = field(default_factory=list)
