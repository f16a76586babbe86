"""Kernels that consist of one grid-stride loop.

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = x[i];

A CPU that runs one thread to its end after another jumps through the whole memory for each of them. But the second
iteration of a thread does what the first iteration of a thread in a further block would do. So a row of threads takes
turns, and the turns in which all of them pass are loops without a branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.cuda.rewriting.guards import CASTS, Guard, closing, declares, end_of_body, is_plain, text_of

_BLOCK = ("blockIdx.x*blockDim.x", "blockDim.x*blockIdx.x")
_STARTS = frozenset(
    text
    for block in _BLOCK
    for part in (block, f"({block})")
    for text in (f"{part}+threadIdx.x", f"threadIdx.x+{part}")
)
_STEPS = frozenset({"blockDim.x*gridDim.x", "gridDim.x*blockDim.x"})
_WAITS_OR_LEAVES = frozenset({"break", "return", "goto", "asm", "__asm__", "blockIdx", "gridDim"})
_WAITS = ("__shared__", "__any", "__all", "__ballot", "__reduce", "__match", "cooperative_groups", "cg")
_MEETS = ("sync", "shfl", "CAS", "Exch", "exchange", "sleep", "activemask")
_NO_CALLS = frozenset({"if", "for", "while", "switch", "sizeof", "__ldg", "atomicAdd", "min", "max"})
_OPERATORS = frozenset(("<<", ">>", *"+-*/%&|^"))
_COUNTS = (["+", "+"], ["-", "-"])
_LARGEST_ATOM = len(("threadIdx", ".", "x"))


def waits(words: Iterable[str]) -> bool:
    """Return whether a thread may wait for others in this text."""
    return any(word.startswith(_WAITS) or any(part in word for part in _MEETS) for word in words)


def find_grid_stride(
    tokens: Sequence[Token], opened: int, opaque: AbstractSet[str], others_wait: bool = False
) -> Guard | None:
    """Return the guard of a body that declares plain values and then runs one grid-stride loop.

    This works as `find_guard`, except that the condition is between the loop's semicolons. `others_wait` says that
    functions it calls may wait for other threads.
    """
    code = [i for i in range(opened, end_of_body(tokens, opened)) if not tokens[i].blank]
    words = [tokens[i].text for i in code]
    if waits(words):
        return None
    at, declared = 1, ""
    values: dict[str, list[str]] = {}
    while at < len(code) and words[at] != "for":
        end = words.index(";", at) if ";" in words[at:] else len(words)
        if not _notes(values, [tokens[i] for i in code[at:end]], opaque):
            return None
        declared += text_of([tokens[i] for i in code[at:end]]) + "; "
        at = end + 1
    if words[at + 1 : at + 2] != ["("]:
        return None
    close = closing(words, at + 1)
    ends = [i for i in range(at, close) if words[i] == ";"]
    if len(ends) != 2 or not _is_one_statement(words[close + 1 :]):
        return None
    start, condition, step = words[at + 2 : ends[0]], words[ends[0] + 1 : ends[1]], words[ends[1] + 1 : close]
    if not _notes(values, [tokens[i] for i in code[at + 2 : ends[0]]], opaque) or "auto" in start or "," in start:
        return None
    counter = start[start.index("=") - 1]
    if not is_plain([tokens[i] for i in code[ends[0] + 1 : ends[1]]], opaque) or condition[:2] != [counter, "<"]:
        return None
    if step[:3] != [counter, "+", "="] or _meaning(step[3:], values) not in _STEPS:
        return None
    if _meaning(values[counter], values) not in _STARTS or set(condition[2:]) & {counter, "threadIdx", "blockIdx"}:
        return None
    header = {words[i] for i in range(1, close) if tokens[code[i]].kind is Kind.NAME and words[i - 1] != "."}
    of_block = {name for name in values if name != counter and _is_of_block(values[name], values)}
    if not _leaves_alone([tokens[i] for i in code[close + 1 :]], header | of_block, of_block, opaque):
        return None
    if others_wait and _calls(words[close + 1 :]):
        return None
    question, start_text = (
        text_of([tokens[i] for i in code[first:end]]) for first, end in ((ends[0] + 1, ends[1]), (at + 2, ends[0]))
    )
    return Guard(code[ends[0]], code[ends[1]], False, f"{declared}{start_text}; ", question, takes_turns=True)


def _notes(values: dict[str, list[str]], tokens: Sequence[Token], opaque: AbstractSet[str]) -> bool:
    """Record the initializers of a declaration by name; return False if it is none."""
    if not declares(tokens, opaque):
        return False
    words = [token.text for token in tokens]
    equals = [i for i, word in enumerate(words) if word == "="]
    for place, end in zip(equals, [*(i - 2 for i in equals[1:]), len(words)], strict=True):
        values[words[place - 1]] = words[place + 1 : end]
    return True


def _meaning(words: Sequence[str], values: Mapping[str, list[str]]) -> str:
    """Return an expression without casts, with known names replaced by their values."""
    text: list[str] = []
    for i, word in enumerate(words):
        if word in CASTS:
            if text[-1:] == ["("] and words[i + 1 : i + 2] == [")"]:
                text[-1] = "cast"
        elif text[-1:] == ["cast"] and word == ")":
            text.pop()
        elif word in values and words[i - 1 : i] != ["."]:
            value = _meaning(values[word], {name: of for name, of in values.items() if name != word})
            text.append(value if len(words) == 1 or len(values[word]) <= _LARGEST_ATOM else f"({value})")
        else:
            text.append(word)
    found = re.sub(r"\((\w+\.x)\)", r"\1", "".join(text))
    whole = found.startswith("(") and closing(list(found), 0) == len(found) - 1
    return found[1:-1] if whole else found


def _is_of_block(words: Sequence[str], values: Mapping[str, list[str]]) -> bool:
    meaning = _meaning(words, values)
    return "blockIdx" in meaning or "gridDim" in meaning


def _is_one_statement(words: Sequence[str]) -> bool:
    """Return whether the words after the loop's header are its body and nothing more."""
    if words[:1] == ["{"]:
        return closing(words, 0) == len(words) - 1
    return words.count(";") == 1 and words[-1] == ";" and "{" not in words


def _calls(words: Sequence[str]) -> bool:
    callers = {first for first, second in pairwise(words) if second == "("}
    return any((word.isidentifier() or word == ">") and word not in _NO_CALLS for word in callers)


def _leaves_alone(
    body: Sequence[Token], fixed: AbstractSet[str], unwanted: AbstractSet[str], opaque: AbstractSet[str]
) -> bool:
    """Return whether an iteration ends with the body and changes nothing that the next one depends on."""
    words = [token.text for token in body]
    for i, word in enumerate(words):
        if word in _WAITS_OR_LEAVES or word in opaque or word in unwanted:
            return False
        before, behind = words[max(i - 2, 0) : i], words[i + 1 : i + 3]
        assigned = behind[:1] == ["="] or (behind[1:] == ["="] and behind[0] in _OPERATORS)
        changes = assigned or behind in _COUNTS or before in _COUNTS or before[-1:] == ["&"]
        if word in fixed and before[-1:] != ["."] and changes:
            return False
    return True
