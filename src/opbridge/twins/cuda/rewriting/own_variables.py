"""The variables that a statement in a kernel's body declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.twins.cuda.rewriting.changed_variables import is_name
from opbridge.twins.cuda.rewriting.statements import NoPhasesError, Statement

_NO_TYPES = frozenset({"return", "if", "for", "while", "do", "switch", "else", "using", "typedef", "delete", "throw"})


@dataclass(frozen=True)
class Variable:
    """A variable declared in a kernel's body."""

    name: str
    kind: str
    """The type, as written before the name."""
    extents: str
    value: tuple[int, int] | None
    """The range of words of its initializer, if it has one after `=`."""
    constant: bool


@dataclass(frozen=True)
class Declaration:
    """A declaration in a kernel's body, without variables if the statement declares none."""

    first: int
    last: int
    """The last of its words."""
    variables: Sequence[Variable]


def declaration(words: Sequence[str], statement: Statement) -> Declaration:
    """Return the variables that a statement declares, if any.

    Raises:
        NoPhasesError: The declaration is one that phases cannot handle.
    """
    first, last = statement.first, statement.last
    known = is_name(words[first]) and words[first] not in _NO_TYPES
    named = _declared_name(words, first, last) if known and "__shared__" not in words[first:last] else None
    found: list[Variable] = []
    if named is None:
        return Declaration(first, last, found)
    stars = next((i for i in range(first, named) if words[i] in ("*", "&")), named)
    kind, at = " ".join(words[first:stars]), stars
    while at < last:
        end = _end_of_declarator(words, at, last)
        found.append(_declared(words, kind, at, end))
        at = end + 1
    return Declaration(first, last, found)


def _declared_name(words: Sequence[str], first: int, last: int) -> int | None:
    """Return the index of the name in `type name` or `a::type<b> * name`, or None."""
    at = first
    while at + 1 < last:
        following = words[at + 1]
        if following == "::":
            at += 2
        elif following == "<":
            depth = 0
            for i in range(at + 1, last):
                depth += (words[i] == "<") - (words[i] == ">")
                if depth == 0:
                    break
            if i + 1 >= last or not (is_name(words[i + 1]) or words[i + 1] in ("*", "&", "::")):
                return None
            raise NoPhasesError  # a type with arguments
        elif is_name(following):
            name = at + 1
            while name + 1 < last and is_name(words[name + 1]):
                name += 1
            return _declared_name(words, name, last) or name if words[name + 1] in ("*", "&", "::", "<") else name
        elif following in ("*", "&") and at + 2 < last and (is_name(words[at + 2]) or words[at + 2] in ("*", "&")):
            at += 1
            while at + 1 < last and words[at + 1] in ("*", "&", "const", "__restrict__"):
                at += 1
            return at + 1 if words[at + 2] in ("=", ",", "[", ";", "(", "{") else None
        else:
            return None
    return None


def _end_of_declarator(words: Sequence[str], at: int, last: int) -> int:
    depth = 0
    for i in range(at, last):
        depth += (words[i] in PAIRS) - (words[i] in CLOSERS)
        if depth == 0 and words[i] == ",":
            return i
    return last


def _declared(words: Sequence[str], kind: str, at: int, end: int) -> Variable:
    name = at
    while words[name] in ("*", "const", "__restrict__"):
        name += 1
    if words[at] == "&" or not is_name(words[name]):
        raise NoPhasesError  # a reference, also to a function or an array
    own = " ".join(word for word in words[at:name] if word != "__restrict__")
    value = next((i for i in range(name + 1, end) if words[i] == "="), end)
    extents = "".join(words[name + 1 : value])
    if extents and (extents[0] != "[" or extents.startswith("[]")):
        raise NoPhasesError  # an initializer in brackets
    whole = f"{kind} {own}".strip()
    constant = own.endswith("const") if "*" in own else bool({"const", "constexpr"} & set(whole.split()))
    return Variable(words[name], whole, extents, (value + 1, end) if value < end else None, constant)
