"""Columns of what a compiler says of a rewritten line, as the user's line has them."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_TAB = 8
"""What compilers take a tab for when they count."""
_FAR = 1 << 30
_PLACE = re.compile(r"(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+)(?=[:,])")
_REFUSAL = re.compile(r'_Pragma\("GCC error \\"(.*?)\\""\)')
_EXCERPT = re.compile(r"\s*\d+ \| ")
_MARKS = re.compile(r"(?P<margin>\s+\| )[\s~^]*\^[\s~^]*$")


@dataclass
class Columns:
    """Of one file: by line, where each part begins in what was made of it, where the user has it, how long."""

    parts: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)
    refused: dict[tuple[int, str], int] = field(default_factory=dict)
    """Where, of a line and a message, what it refuses begins: a compiler's column is that within the pragma."""

    @classmethod
    def of(cls, pieces: Iterable[tuple[str, str, str]]) -> Columns:
        """`pieces` are in order: what was put before a part, what stands for it, and the part as it was."""
        found = cls()
        line = made = written = 0
        for before, now, part in pieces:
            on_line = found.parts.setdefault(line + 1, [])
            for refusal in _REFUSAL.finditer(before):
                found.refused.setdefault((line + 1, refusal[1]), written + 1)
            if before:
                on_line.append((made, written, 1))
                made = _behind(made, before)
            on_line.append((made, written, _FAR if now == part else _behind(written, part) - written))
            if newlines := part.count("\n"):
                line += newlines
                made, written = (_behind(0, text.rpartition("\n")[2]) for text in (now, part))
                found.parts.setdefault(line + 1, []).append((0, 0, _FAR))
            else:
                made, written = _behind(made, now), _behind(written, part)
        return found

    def as_written(self, line: int, column: int, message: str = "") -> int:
        if (line, message) in self.refused:
            return self.refused[line, message]
        parts = self.parts.get(line)
        if not parts:
            return column
        at = max(0, bisect.bisect_right(parts, (column - 1, _FAR, _FAR)) - 1)
        made, written, length = parts[at]
        return written + min(max(0, column - 1 - made), max(0, length - 1)) + 1


def with_users_columns(said: str, files: Mapping[str, Columns]) -> str:
    """A compiler's messages; the marks below an excerpt, made for the rewritten line, become one at its place."""
    lines: list[str] = []
    column: int | None = None
    for text in said.splitlines(keepends=True):
        marks = _MARKS.match(text.rstrip("\n"))
        if column is not None and marks:
            lines.append(f"{marks['margin']}{' ' * (column - 1)}^\n")
            continue
        if not _EXCERPT.match(text):
            place = next((place for place in _PLACE.finditer(text) if place["file"] in files), None)
            column = None
            if place:
                message = text[place.end() :].strip().partition("error: ")[2]
                column = files[place["file"]].as_written(int(place["line"]), int(place["column"]), message)
                text = text[: place.start("column")] + str(column) + text[place.end("column") :]
        lines.append(text)
    return "".join(lines)


def _behind(column: int, text: str) -> int:
    """The column behind a text that begins at one."""
    if "\t" not in text:
        return column + len(text)
    for character in text:
        column = (column // _TAB + 1) * _TAB if character == "\t" else column + 1
    return column
