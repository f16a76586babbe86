"""The mapping of columns in compiler messages from rewritten lines to the lines of the user."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from opbridge.base.excerpts import behind, caret

BYTES = "-fdiagnostics-column-unit=byte"
"""The g++ option for columns in bytes; clang++ counts bytes by default."""

_FAR = 1 << 30
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+)(?=[:,])")
_REFUSAL = re.compile(r'_Pragma\("GCC error \\"(.*?)\\""\)')
_EXCERPT = re.compile(r"\s*\d+ \| ")
_BELOW = re.compile(r"(?P<margin>\s+\| )(?P<blank> *)(?=\S)")
_MARKS = re.compile(r"(?P<margin>\s+\| )[\s~^]*\^[\s~^]*$")

Piece = tuple[str, str, str]
"""The text inserted before a part of a source, its replacement, and the original part."""


@dataclass
class _Position:
    line: int = 1
    """The line in the rewritten file."""
    made: int = 0
    """The bytes of that line before this position."""
    written: int = 0
    """The columns of the user line before this position."""


@dataclass
class _Parts:
    """The parts of one file, by line: where each starts in the rewritten and in the user line, and its length."""

    parts: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    refused: dict[tuple[int, str], int] = field(default_factory=dict)
    """The column of each refusal, by line and message: the compiler reports one inside the pragma."""

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> _Parts:
        found, at = cls(), _Position()
        for before, now, part in pieces:
            for refusal in _REFUSAL.finditer(before):
                found.refused.setdefault((at.line, refusal[1]), at.written + 1)
            if before:
                found._put(at, before, "", 1)
            for made, written in _by_line(now, part):
                length = _FAR if made == written else behind(at.written, written) - at.written
                found._put(at, made, written, length)
        return found

    def _put(self, at: _Position, made: str, written: str, length: int) -> None:
        self.parts.setdefault(at.line, []).append((at.made, at.written, length))
        _, newline, rest = written.rpartition("\n")
        at.written = behind(0 if newline else at.written, rest)
        *lines, last = made.split("\n")
        for _ in lines:
            at.line, at.made = at.line + 1, 0
            self.parts.setdefault(at.line, []).append((0, at.written, length))
        at.made += len(last.encode("utf-8", "surrogateescape"))


class Columns:
    """The column mapping of one file, built from all its pieces in order.

    It expects byte columns (`BYTES`), which compilers report; the result is a column of the user's line.
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = tuple(pieces)

    @cached_property
    def _parts(self) -> _Parts:
        """Computed on first use: compilers report nothing about most files, and those of a library are long."""
        return _Parts.of(self._pieces)

    def as_written(self, line: int, column: int, message: str = "") -> int:
        """Return the column in the user's line for a column of the rewritten line, 1-based."""
        if (line, message) in self._parts.refused:
            return self._parts.refused[line, message]
        parts = self._parts.parts.get(line)
        if not parts:
            return column
        at = max(0, bisect.bisect_right(parts, (column - 1, _FAR, _FAR)) - 1)
        made, written, length = parts[at]
        return written + min(max(0, column - 1 - made), max(0, length - 1)) + 1


def with_users_columns(said: str, files: Mapping[str, Columns]) -> str:
    """Return compiler messages with the columns of the user's lines.

    The marks below an excerpt fit the rewritten line; one mark at the user's place replaces them, and the text below
    moves with it.
    """
    lines: list[str] = []
    column: int | None = None
    excerpt, moved = "", 0
    for text in said.splitlines(keepends=True):
        if column is not None and (marks := _MARKS.match(text.rstrip("\n"))):
            mark = caret(excerpt, column)
            moved = len(mark) - (text.index("^") + 1 - len(marks["margin"]))
            text = f"{marks['margin']}{mark}\n"
        elif found := _EXCERPT.match(text):
            excerpt, moved = text[found.end() :].rstrip("\n"), 0
        elif moved and (below := _BELOW.match(text)):
            text = below["margin"] + " " * max(0, len(below["blank"]) + moved) + text[below.end() :]
        elif place := next((place for place in _PLACE.finditer(text) if place["file"] in files), None):
            message = text[place.end() :].strip().partition("error: ")[2]
            column = files[place["file"]].as_written(int(place["line"]), int(place["column"]), message)
            text = text[: place.start("column")] + str(column) + text[place.end("column") :]
        else:
            column = None
        lines.append(text)
    return "".join(lines)


def _by_line(now: str, part: str) -> Iterable[tuple[str, str]]:
    """Pair a rewritten part with its original, line by line if both have as many lines.

    An unchanged part is split into ASCII runs and single other characters, whose bytes and columns differ in number.
    """
    if now == part:
        return ((text, text) for text in re.findall(r"[\x20-\x7e]+|.", part, re.DOTALL))
    made, written = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (now, part))
    return zip(made, written, strict=True) if len(made) == len(written) else [(now, part)]
