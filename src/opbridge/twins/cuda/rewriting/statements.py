"""The statements of a kernel's body, down to the level of its barriers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.twins.cuda.rewriting.guards import closing

BARRIER = "__syncthreads"
_BEFORE_STATEMENT = frozenset({";", "{", "}", "else", "do"})
_WITH_HEADER = frozenset({"for", "while", "if", "switch"})


class NoPhasesError(Exception):
    """The barriers of a kernel are not at places that all its threads reach together."""


@dataclass(frozen=True)
class Statement:
    """A statement as a range of words, with inner statements if it holds barriers."""

    first: int
    last: int
    """The last of its words."""
    header: tuple[int, int] | None = None
    """The range of words in the parentheses of a loop or condition that holds barriers."""
    inner: Sequence[Statement] = ()
    """The inner statements, if the statement holds barriers."""

    @property
    def holds_barriers(self) -> bool:
        """Whether there are barriers inside the statement."""
        return bool(self.inner)


def statements(words: Sequence[str], at: int, end: int) -> list[Statement]:
    """Split a range of words into statements.

    Raises:
        NoPhasesError: A statement does not end in the range, or a barrier is where threads may diverge.
    """
    found = []
    while at < end:
        last = _last_word(words, at)
        if last >= end:
            raise NoPhasesError
        found.append(_statement(words, at, last))
        at = last + 1
    return found


def is_barrier(words: Sequence[str], statement: Statement) -> bool:
    """Return whether a statement is `__syncthreads();`."""
    return list(words[statement.first : statement.last + 1]) == [BARRIER, "(", ")", ";"]


def leaves_loop(words: Sequence[str], statement: Statement) -> bool:
    """Return whether a statement may leave or continue a loop around it."""
    at = statement.first
    while at <= statement.last:
        if words[at] in ("break", "continue", "case", "default"):
            return True
        if words[at] in ("for", "while", "do", "switch"):
            last = _last_word(words, at)
            if words[at] == "switch" and "continue" in words[at:last]:
                return True
            at = last
        at += 1
    return False


def may_spin(words: Sequence[str]) -> bool:
    """Return whether a loop may wait for a change by another thread of the block, which gets no turn.

    Such a loop uses the result of an atomic operation.
    """
    loops = [i for i, word in enumerate(words) if word in ("for", "while", "do")]
    inside = {i for first in loops for i in range(first, _last_word(words, first))}
    return any(words[i].startswith("atomic") and not _begins_statement(words, i) for i in inside)


def _begins_statement(words: Sequence[str], i: int) -> bool:
    if words[i - 1] != ")":
        return words[i - 1] in _BEFORE_STATEMENT
    depth = 0
    for k in range(i - 1, 0, -1):
        depth += (words[k] == ")") - (words[k] == "(")
        if depth == 0:
            return words[k - 1] in _WITH_HEADER
    return False


def _statement(words: Sequence[str], first: int, last: int) -> Statement:
    plain = Statement(first, last)
    if BARRIER not in words[first : last + 1] or is_barrier(words, plain):
        return plain
    if words[first] == "{":
        return Statement(first, last, None, statements(words, first + 1, last))
    opened = first + 1 + (words[first + 1] == "constexpr")
    if words[first] not in ("for", "while", "if") or words[opened] != "(":
        raise NoPhasesError
    close = closing(words, opened)
    # An `else` may follow the block of a condition, so that threads diverge.
    if words[close + 1] != "{" or closing(words, close + 1) != last:
        raise NoPhasesError
    return Statement(first, last, (opened + 1, close), statements(words, close + 2, last))


def _last_word(words: Sequence[str], at: int) -> int:
    if words[at] == "{":
        return closing(words, at)
    if words[at] in _WITH_HEADER:
        opened = at + 1 + (words[at + 1] == "constexpr")
        last = _last_word(words, closing(words, opened) + 1)
        return _last_word(words, last + 2) if words[last + 1] == "else" and words[at] == "if" else last
    if words[at] == "do":
        at = _last_word(words, at + 1) + 1
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i] in PAIRS) - (words[i] in CLOSERS)
        if depth == 0 and words[i] == ";":
            return i
    raise NoPhasesError
