"""Where the variables of a function are changed, as far as its tokens tell: rather too often than too seldom."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from opbridge.cxx.reader import CLOSERS, PAIRS

_BEFORE_EQUALS = frozenset("+-*/%&|^")
_COUNTS = (["+", "+"], ["-", "-"])
_VALUES_END = frozenset({")", "]"})


def changes(words: Sequence[str], takes_references: AbstractSet[str]) -> dict[str, set[int]]:
    """The places by names.  `takes_references` are functions that may change what they are given."""
    found: dict[str, set[int]] = {}
    callers: list[str] = []
    for i, word in enumerate(words):
        if word in PAIRS:
            callers.append(words[i - 1] if word == "(" and i else "")
        elif word in CLOSERS and callers:
            callers.pop()
        if not is_name(word) or words[i - 1 : i] in (["."], ["->"]):
            continue
        given_away = bool(callers) and callers[-1] in takes_references and _is_whole_argument(words, i)
        if given_away or _is_changed(words, i) or _is_referred_to(words, i):
            found.setdefault(word, set()).add(i)
    return found


def is_name(word: str) -> bool:
    return word[:1].isalpha() or word[:1] == "_"


def is_value(word: str) -> bool:
    """Whether a value may end there, so that the mark behind it stands between two."""
    return is_name(word) or word[:1].isdigit() or word in _VALUES_END


def assigned_value(words: Sequence[str], first: int, last: int) -> tuple[str, int, int] | None:
    """Of `name = value`, `name += value` and `++name`, without a semicolon: the name, and the value's place."""
    here = list(words[first:last])
    if here[:2] in _COUNTS and len(here) == 3:
        return here[2], last, last
    if here[1:] in _COUNTS:
        return here[0], last, last
    equals = next((i for i, word in enumerate(here) if word in ("=", ">=", "<<=")), 0)
    if not equals or not is_name(here[0]) or not _assigns(here, 0) or "," in here:
        return None
    return here[0], first + equals + 1, last


def _is_changed(words: Sequence[str], i: int) -> bool:
    behind = i
    while words[behind + 1 : behind + 2] == ["."]:
        behind += 2
    counts = list(words[max(i - 2, 0) : i]) in _COUNTS or list(words[behind + 1 : behind + 3]) in _COUNTS
    return counts or _assigns(words, behind)


def _assigns(words: Sequence[str], name: int) -> bool:
    behind = list(words[name + 1 : name + 3])
    if behind[:1] == ["="] or behind[:1] == ["<<="] or behind == [">", ">="]:
        return True
    return behind[1:] == ["="] and behind[0] in _BEFORE_EQUALS


def _is_referred_to(words: Sequence[str], i: int) -> bool:
    """`&name` of an address, or `& other = name`."""
    before = words[i - 1]
    if before == "&":
        return words[i + 1] != "[" and not is_value(words[i - 2])
    return before in ("=", "{", "(") and "&" in words[max(i - 3, 0) : i - 1] and is_name(words[i - 2])


def _is_whole_argument(words: Sequence[str], i: int) -> bool:
    return words[i - 1] in ("(", ",") and words[i + 1 : i + 2] in ([")"], [","])
