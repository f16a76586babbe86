"""The places where a function changes its variables, as its tokens show; in doubt a place counts as a change."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from opbridge.build.cxx.reader import CLOSERS, PAIRS

_BEFORE_EQUALS = frozenset("+-*/%&|^")
_COUNTS = (["+", "+"], ["-", "-"])
_VALUES_END = frozenset({")", "]"})


def changes(words: Sequence[str], takes_references: AbstractSet[str]) -> dict[str, set[int]]:
    """Return the places where each name may change; functions in `takes_references` may change their arguments."""
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
    """Return whether a word is an identifier."""
    return word[:1].isalpha() or word[:1] == "_"


def is_value(word: str) -> bool:
    """Return whether a value may end at a word, so that the operator after it is binary."""
    return is_name(word) or word[:1].isdigit() or word in _VALUES_END


def assigned_value(words: Sequence[str], first: int, last: int) -> tuple[str, int, int] | None:
    """Return the name and the value's range of `name = value`, `name += value` or `++name`, without semicolon."""
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
    """Return whether `&name` takes an address, or `& other = name` binds a reference."""
    before = words[i - 1]
    if before == "&":
        return words[i + 1] != "[" and not is_value(words[i - 2])
    return before in ("=", "{", "(") and "&" in words[max(i - 3, 0) : i - 1] and is_name(words[i - 2])


def _is_whole_argument(words: Sequence[str], i: int) -> bool:
    return words[i - 1] in ("(", ",") and words[i + 1 : i + 2] in ([")"], [","])
