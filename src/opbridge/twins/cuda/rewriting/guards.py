"""The guard of a kernel: the initial condition that decides which threads take part.

    const int i = blockIdx.x * blockDim.x + threadIdx.x;        if (i >= n) return;
    if (i < n) y[i] = x[i];                                     y[i] = x[i];

The twin evaluates the guard first, for a whole row of threads. If all of them pass, a loop without a branch remains:
many CPUs store some elements of a vector slowly, or not at all. Evaluating the guard twice must change nothing, so a
guard consists of names, numbers and operators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind, Token

_REPEATS = frozenset({"for", "while", "do", "goto"})
CASTS = frozenset({"int", "unsigned", "long", "short", "size_t", "int32_t", "uint32_t", "int64_t", "uint64_t"})
_OPERATORS = frozenset(("(", ")", "<<", "<=", ">=", "==", "!=", "&&", "||", "::", *"+-*/%<>!&|^~?:.,"))


@dataclass(frozen=True)
class Guard:
    """The guard of a kernel; its condition is between the tokens `first` and `last`, parentheses or semicolons."""

    first: int
    last: int
    returns: bool
    """Whether threads that fulfil the condition leave the kernel, instead of taking part."""
    declared: str
    """The declarations of the variables that the condition may use."""
    condition: str
    takes_turns: bool = False
    """Whether the condition is that of a grid-stride loop."""

    @property
    def question(self) -> str:
        """The body of a function that returns whether a thread takes part."""
        return f"{self.declared}return {'!' if self.returns else 'bool'}({self.condition});"


def find_guard(tokens: Sequence[Token], opened: int, opaque: AbstractSet[str]) -> Guard | None:
    """Return the guard of the body that this brace opens; `opaque` macros may be more than a name or number."""
    code = [i for i in range(opened, end_of_body(tokens, opened)) if not tokens[i].blank]
    words = [tokens[i].text for i in code]
    if any(word in _REPEATS or "sync" in word or word.startswith(("__shared__", "__shfl")) for word in words):
        return None  # a loop over threads that wait or run loops is not vectorized anyway
    at, declared = 1, ""
    while at < len(code):
        if words[at] == "if" and words[at + 1 : at + 2] == ["("]:
            close = closing(words, at + 1)
            condition = [tokens[i] for i in code[at + 2 : close]]
            about_threads = "threadIdx" in words[:close]
            if not condition or not about_threads or not is_plain(condition, opaque):
                return None
            behind = words[close + 1 : close + 5]
            returns = behind[:2] == ["return", ";"] or behind == ["{", "return", ";", "}"]
            return Guard(code[at + 1], code[close], returns, declared, text_of(condition))
        end = words.index(";", at) if ";" in words[at:] else len(words)
        declaration = [tokens[i] for i in code[at:end]]
        if not declares(declaration, opaque):
            return None
        declared += text_of(declaration) + "; "
        at = end + 1
    return None


def text_of(tokens: Sequence[Token]) -> str:
    """Join non-blank tokens; those that were adjacent stay adjacent, as in `>>`."""
    ends = [0, *(token.at + len(token.text) for token in tokens)]
    return "".join(
        token.text if token.at == end else f" {token.text}" for token, end in zip(tokens, ends, strict=False)
    ).strip()


def is_plain(tokens: Sequence[Token], opaque: AbstractSet[str] = frozenset()) -> bool:
    """Return whether the tokens form an expression that changes nothing and reads no memory."""
    before = ""
    for position, token in enumerate(tokens):
        text = token.text
        following = tokens[position + 1].text if position + 1 < len(tokens) else ""
        if token.kind is Kind.NAME:
            calls = following == "(" and text not in CASTS
            if calls or text in opaque or (text.startswith("__") and text != "__int128"):
                return False
        elif token.kind is not Kind.NUMBER and text not in _OPERATORS:
            return False
        if text in ("+", "-") and before == text:
            return False  # increments and decrements look the same
        if text == "*" and (before in _OPERATORS - {")"} or before == "" or _ends_in_cast(tokens[:position])):
            return False  # a dereference looks the same
        if text == "(" and (before == ">" or (before == ")" and not _ends_in_cast(tokens[:position]))):
            return False  # a call looks the same
        before = text
    return True


def declares(tokens: Sequence[Token], opaque: AbstractSet[str]) -> bool:
    """Return whether the tokens are a declaration such as `const int i = 1, j = 2`, without semicolon."""
    equals = [i for i, token in enumerate(tokens) if token.text == "="]
    names = tokens[: equals[0]] if equals else ()
    if sum(token.kind is Kind.NAME for token in names) < 2 or any(token.text == "static" for token in names):
        return False
    if any(token.kind is not Kind.NAME and token.text != "::" for token in names):
        return False
    further = [i for i, token in enumerate(tokens) if token.text == ","]
    # Each comma separates two declarators and is not part of a call.
    if [i - 2 for i in equals[1:]] != further or any(tokens[i - 1].kind is not Kind.NAME for i in equals):
        return False
    ends = [*further, len(tokens)]
    return all(
        is_plain(tokens[begin + 1 : end], opaque) and end > begin + 1 for begin, end in zip(equals, ends, strict=True)
    )


def _ends_in_cast(tokens: Sequence[Token]) -> bool:
    return [token.text for token in tokens[-1:]] == [")"] and tokens[-2].text in CASTS


def end_of_body(tokens: Sequence[Token], opened: int) -> int:
    """Return the closing brace of a body; if the body has directives, return `opened`."""
    depth = 0
    for i in range(opened, len(tokens)):
        if tokens[i].kind is Kind.DIRECTIVE:
            return opened  # text that the directive drops must not be analysed
        depth += (tokens[i].text == "{") - (tokens[i].text == "}")
        if depth == 0:
            return i
    return opened


def closing(words: Sequence[str], opened: int) -> int:
    """Return the index of the bracket that closes the one at `opened`."""
    depth = 0
    for i in range(opened, len(words)):
        depth += (words[i] in PAIRS) - (words[i] in CLOSERS)
        if depth == 0:
            return i
    return len(words)
