"""Navigation in the tokens of a source."""

from __future__ import annotations

from collections.abc import Iterator

from opbridge.base.errors import InputError, Location
from opbridge.build.cxx.tokens import Token, tokenize

PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(PAIRS.values())


class Reader:
    """The tokens of a source, with searches by token index."""

    def __init__(self, source: str, file: str, line: int, *, directives: bool) -> None:
        self.source = source
        self.file = file
        self.first_line = line
        self.tokens = tokenize(source, directives)

    def next(self, index: int) -> int | None:
        """Return the first non-blank token from `index` on, or None."""
        return next((i for i in range(index, len(self.tokens)) if not self.tokens[i].blank), None)

    def previous(self, index: int) -> int | None:
        """Return the last non-blank token up to `index`, or None."""
        return next((i for i in range(index, -1, -1) if not self.tokens[i].blank), None)

    def follows(self, index: int, word: str) -> bool:
        """Return whether the token before `index` is `word`."""
        previous = self.previous(index - 1)
        return previous is not None and self.tokens[previous].text == word

    def body(self, opened: int) -> Iterator[Token]:
        """Yield the tokens from an opening brace up to the one that closes it, which is not included."""
        depth = 0
        for i in range(opened, len(self.tokens)):
            token = self.tokens[i]
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0:
                return
            yield token

    def match(self, opened: int) -> int:
        """Return the bracket that closes the one at `opened`.

        Raises:
            InputError: The bracket is not closed.
        """
        depth = 0
        for i in range(opened, len(self.tokens)):
            depth += (self.tokens[i].text in PAIRS) - (self.tokens[i].text in CLOSERS)
            if depth == 0:
                return i
        raise self.refusal(opened, f"expected {PAIRS[self.tokens[opened].text]} for this")

    def match_angle(self, opened: int) -> int | None:
        """Return the angle bracket that closes the one at `opened`, or None."""
        depth = 0
        for i in range(opened, len(self.tokens)):
            text = self.tokens[i].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return i
            if text in (";", "{"):
                return None
        return None

    def match_back(self, closed: int) -> int:
        """Return the bracket that opens the one at `closed`; angle brackets match only at their own depth.

        Raises:
            InputError: There is none in the same statement.
        """
        angles = self.tokens[closed].text == ">"
        depth = nested = 0
        for i in range(closed, -1, -1):
            text = self.tokens[i].text
            if text in CLOSERS:
                nested += 1
            elif text in PAIRS:
                nested -= 1
            if angles:
                if nested == 0:
                    depth += (text == ">") - (text == "<") - 2 * (text == "<<")
                if depth <= 0:
                    return i
            elif nested == 0:
                return i
            if text == ";":
                break
        raise self.refusal(closed, "expected a kernel's name before <<<")

    def line(self, index: int) -> int:
        """Return the line number of a token."""
        return self.first_line + self.source.count("\n", 0, self.tokens[index].at)

    def refusal(self, index: int, message: str) -> InputError:
        """Return an error that points at a token."""
        at = self.tokens[index].at
        start = self.source.rfind("\n", 0, at) + 1
        end = self.source.find("\n", at)
        line = self.source[start : end if end >= 0 else None]
        return InputError(message, Location(self.file, self.line(index), at - start + 1, line))
