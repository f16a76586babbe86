"""Parse C++ expressions in declarations: the names that they use, and lists of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_NAME = re.compile(r"(?<![\w.:>])(?P<name>[A-Za-z_]\w*)\b(?!\s*(?:\(|::|<))")
_CALLED = re.compile(r"(?<![\w.:>])(?P<name>[A-Za-z_]\w*)\s*\(")
_QUALIFIED = re.compile(r"(?<![\w.:>])[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_NO_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/', re.DOTALL)
"""Matches texts and comments."""
_CONSTANT = re.compile(r"k?[A-Z]")
"""Matches the beginning of a type or constant."""
_KEYWORDS = frozenset(
    {"const_cast", "decltype", "dynamic_cast", "reinterpret_cast", "static_cast"}
    | {"auto", "bool", "char", "const", "double", "false", "float", "if", "int", "long", "not", "nullptr", "return"}
    | {"sizeof", "true"}
)
_NUMBER = re.compile(r"(u?int\d+|size)_t")
"""Matches a type that is not a keyword; a tangent may be called `x_t`."""
_OPENING, _CLOSING = "([{<", ")]}>"


def names_used(text: str) -> list[str]:
    """Return the names that are not functions, members or namespaces."""
    return _found(_NAME, text)


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """A name as an expression spells it, with its namespaces."""

    name: str
    arguments: int | None
    """The number of arguments of a call; None for a name that is not called."""
    is_outermost: bool
    """It is in no call and no list: it is the value of the expression, or one of two alternatives."""
    before: str
    """The text before it, without trailing spaces."""
    after: str
    """The text after it, and after its arguments if it is called."""


def qualified_names(text: str) -> Iterator[QualifiedName]:
    """Yield the names of an expression that are not members, including functions."""
    text = _NO_NAMES.sub('""', text)
    for match in _QUALIFIED.finditer(text):
        if match[0] in _KEYWORDS or _NUMBER.fullmatch(match[0]):
            continue
        before, after = text[: match.start()].rstrip(), text[match.end() :].lstrip()
        arguments = None
        if after.startswith("("):
            inner, after = _bracketed(after)
            arguments = len(items(inner))
        yield QualifiedName(match[0], arguments, not _in_call_or_list(before), before, after.lstrip())


def _in_call_or_list(before: str) -> bool:
    """Return whether brackets are open that do more than group."""
    opened: list[bool] = []
    for index, letter in enumerate(before):
        if letter in "([{":
            opened.append(letter != "(" or re.search(r"[\w>]\s*$", before[:index]) is not None)
        elif letter in ")]}" and opened:
            opened.pop()
    return any(opened)


def _bracketed(text: str) -> tuple[str, str]:
    """Return the text within the brackets that a text begins with, and the text after them."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return text[1:index], text[index + 1 :]
    return text[1:], ""


def functions_called(text: str) -> set[str]:
    """Return the names that are called, without namespaces."""
    return set(_found(_CALLED, text))


def unknown_names(text: str, known: Collection[str]) -> list[str]:
    """Return the names that nothing explains.

    Types and constants may come from anywhere. A text with a lambda declares variables itself, so nothing in it is
    reported.
    """
    if ";" in text:
        return []
    return [name for name in names_used(text) if name not in known and not is_constant(name)]


def is_constant(name: str) -> bool:
    """Return whether a name is spelled like a type or a constant."""
    return _CONSTANT.match(name) is not None


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    names = (match["name"] for match in pattern.finditer(_NO_NAMES.sub('""', text)))
    return [name for name in names if name not in _KEYWORDS and not _NUMBER.fullmatch(name)]


def items(text: str) -> tuple[str, ...]:
    """Split a text at its commas, except those within brackets and texts."""
    parts, start, depth, in_text = [], 0, 0, False
    for index, letter in enumerate(text):
        if letter == '"':
            in_text = not in_text
        elif in_text:
            continue
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    return tuple(part.strip() for part in (*parts, text[start:]) if part.strip())
