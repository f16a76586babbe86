"""Lines of Ascend C over vectors in local memory, and the assignment of buffers to these vectors.

A vector or mask is written as `@v3@` or `@m3@` until all lines exist. Then those that are never needed at the
same time share a buffer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PLACE = re.compile(r"@([vm]\d+)@")


@dataclass
class VectorCode:
    """The lines of one kernel, with placeholders for vectors and masks."""

    lines: list[str] = field(default_factory=list)
    depth: int = 2
    loops: list[tuple[int, int]] = field(default_factory=list)
    """The number of each loop's first line, and of the line after its last."""
    kept: dict[str, str] = field(default_factory=dict)
    """The placeholders that keep their values from row to row, with their own names."""
    count: int = 0

    def line(self, text: str) -> None:
        """Append a text at the current depth; it may contain several lines."""
        self.lines += ["  " * self.depth + part for part in text.split("\n")]

    def new(self, kind: str) -> str:
        """Return a new placeholder for a vector (`v`) or a mask (`m`)."""
        self.count += 1
        return f"@{kind}{self.count}@"

    def keep(self, kind: str, name: str) -> str:
        """Return a new placeholder for a buffer of its own with this name."""
        place = self.new(kind)
        self.kept[place.strip("@")] = name
        return place

    def begin_steps(self, is_backward: bool = False) -> int:
        """Begin the loop over the steps of a row, and return the number to pass to `end_steps`."""
        first, step = ("last", "step_back") if is_backward else ("first", "step")
        self.line(f"for (rows.{first}(); rows.has_step(); rows.{step}()) {{")
        self.depth += 1
        self.line("const uint32_t n = rows.count();")
        return len(self.lines)

    def end_steps(self, begin: int) -> None:
        """End the loop over the steps of a row."""
        self.depth -= 1
        self.line("}")
        self.loops.append((begin, len(self.lines)))

    def settled(self, taken: set[str]) -> tuple[str, dict[str, list[str]]]:
        """Return the text with buffers assigned, and the names of vectors and masks in the order of their buffers."""
        names = dict(self.kept)
        buffers = {kind: [name for place, name in self.kept.items() if place[0] == kind] for kind in "vm"}
        free: dict[str, list[str]] = {"v": [], "m": []}
        lasts = self._lasts()
        found = []
        for number, line in enumerate(self.lines):
            places = [place for place in dict.fromkeys(_PLACE.findall(line)) if place not in self.kept]
            for place in places:
                if place not in names:
                    names[place] = free[place[0]].pop() if free[place[0]] else _fresh(place[0], buffers, taken)
            found.append(_PLACE.sub(lambda match: names[match[1]], line))
            ended = [place for place, last in lasts.items() if last == number]
            for place in sorted(ended, key=lambda place: names[place], reverse=True):
                free[place[0]].append(names[place])
        return "\n".join(found), buffers

    def _lasts(self) -> dict[str, int]:
        """Return the last line that needs each placeholder.

        A placeholder from before a loop that is used in the loop is needed until the loop's last line.
        """
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for number, line in enumerate(self.lines):
            for place in _PLACE.findall(line):
                if place not in self.kept:
                    first.setdefault(place, number)
                    last[place] = number
        for begin, end in self.loops:
            for place, number in last.items():
                if first[place] < begin <= number < end:
                    last[place] = end - 1
        return last


def _fresh(kind: str, buffers: dict[str, list[str]], taken: set[str]) -> str:
    letter = "t" if kind == "v" else "p"
    number = 0
    while f"{letter}{number}" in taken or f"{letter}{number}" in buffers[kind]:
        number += 1
    buffers[kind].append(f"{letter}{number}")
    return buffers[kind][-1]
