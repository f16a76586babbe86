"""Columns of what a compiler says of a rewritten line, as the user's line has them."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from opbridge.excerpts import behind, caret

BYTES = "-fdiagnostics-column-unit=byte"
"""For g++; clang++ counts bytes anyway."""

_FAR = 1 << 30
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+)(?=[:,])")
_REFUSAL = re.compile(r'_Pragma\("GCC error \\"(.*?)\\""\)')
_EXCERPT = re.compile(r"\s*\d+ \| ")
_BELOW = re.compile(r"(?P<margin>\s+\| )(?P<blank> *)(?=\S)")
_MARKS = re.compile(r"(?P<margin>\s+\| )[\s~^]*\^[\s~^]*$")

Piece = tuple[str, str, str]
"""What was put before a part of a source, what stands for it, and the part as it was."""


@dataclass
class _Position:
    line: int = 1
    """Of what was made."""
    made: int = 0
    """How many bytes of that line are behind it …"""
    written: int = 0
    """… and how many columns of the user's."""


@dataclass
class _Parts:
    """Of one file: by line, where each part begins in what was made of it, where the user has it, how long."""

    parts: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    refused: dict[tuple[int, str], int] = field(default_factory=dict)
    """Where, of a line and a message, what it refuses begins: a compiler's column is that within the pragma."""

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
    """Of one file, all of whose pieces in order it is given.

    Compilers are asked for bytes (`BYTES`): where they count columns, they do so in the user's line.
    """

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = tuple(pieces)

    @cached_property
    def _parts(self) -> _Parts:
        """Of most files a compiler says nothing, and those of a library are long."""
        return _Parts.of(self._pieces)

    def as_written(self, line: int, column: int, message: str = "") -> int:
        if (line, message) in self._parts.refused:
            return self._parts.refused[line, message]
        parts = self._parts.parts.get(line)
        if not parts:
            return column
        at = max(0, bisect.bisect_right(parts, (column - 1, _FAR, _FAR)) - 1)
        made, written, length = parts[at]
        return written + min(max(0, column - 1 - made), max(0, length - 1)) + 1


def with_users_columns(said: str, files: Mapping[str, Columns]) -> str:
    """A compiler's messages; the marks below an excerpt, made for the rewritten line, become one at its place, and
    what stands below them moves with it."""
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
    """A part as it was made and written, line by line where both have as many; of what stays, what is wider than its
    bytes by itself."""
    if now == part:
        return ((text, text) for text in re.findall(r"[\x20-\x7e]+|.", part, re.DOTALL))
    made, written = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (now, part))
    return zip(made, written, strict=True) if len(made) == len(written) else [(now, part)]
