"""Lines of a formula: parts that have names, and the value after them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from opbridge.waist.rules.parser import Source, parse_expression
from opbridge.waist.rules.syntax import Expr

_LET = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_BREAK = re.compile(r"[()\[\]\n;,]|\"[^\"\n]*\"|'[^'\n]*'")


@dataclass(frozen=True)
class Statement:
    """A part by its name, or a value without one; `offset` is where its text begins."""

    name: str
    text: str
    offset: int

    def parsed(self, source: Source) -> Expr:
        """Parse the statement's expression; places in errors count from the start of the whole text."""
        # As long as what stands before it, so that places are those in the whole text.
        before = re.sub(r"[^\n]", " ", source.text[: self.offset])
        return parse_expression(before + self.text, source.where)


def statements(text: str) -> list[Statement]:
    """Split a text into statements at line ends and `;`; a line that begins with `#` is a comment."""
    found = []
    for start, end in pieces(text, 0, len(text), "\n;"):
        line = text[start:end]
        if line.strip() and not line.lstrip().startswith("#"):
            let = _LET.match(line)
            begin = start + (let.end() if let else 0)
            found.append(Statement(let[1] if let else "", text[begin:end], begin))
    return found


def pieces(text: str, start: int, end: int, breaks: str) -> Iterator[tuple[int, int]]:
    """Split the text at the breaks outside brackets."""
    depth, begin = 0, start
    for match in _BREAK.finditer(text, start, end):
        token = match[0]
        depth += (token in "([") - (token in ")]")
        if token in breaks and depth <= 0:
            yield begin, match.start()
            begin = match.end()
    yield begin, end
