"""Make one change in the kernels of right answers, as authors of kernels make mistakes."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from opbridge.build.cxx.tokens import Kind, Token, tokenize

_DEVICE_CODE = ("__global__", "__device__")
_OTHER = {"+": "-", "-": "+", "*": "+", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_BOUNDS = ("<", "<=", ">", ">=")
_OF_TYPES = ("float", "double", "int", "const", "void", "half", "unsigned", "char", "bool", "auto", "return")
_ROUNDING_UP = re.compile(r"\+\s*[\w.]+\s*-\s*1(?=\s*\))|(?<=\w)\s*\+\s*(?:255|127|511|1023|31|15|63)(?=\s*\))")
_GUARD = re.compile(r"\bif\s*(\([^(){};]*<[^(){};]*\))(?=\s*(?:return|\{|\w))")
_DECLARED = re.compile(r"\bfloat(?=\s+\w+\s*=)")


@dataclass(frozen=True)
class Edit:
    kind: str
    begin: int
    end: int
    text: str
    """What stands there instead."""


@dataclass(frozen=True)
class Mutant:
    kind: str
    line: int
    """The line of the answer."""
    was: str
    source: str


def mutants(answer: str, count: int, seed: int) -> list[Mutant]:
    """Yield different mutants, about as many of each kind; fewer if an answer has fewer places."""
    by_kind: dict[str, list[Edit]] = {}
    for edit in edits(answer):
        by_kind.setdefault(edit.kind, []).append(edit)
    chooser = random.Random(seed)
    for some in by_kind.values():
        chooser.shuffle(some)
    chosen: list[Edit] = []
    while len(chosen) < count and any(by_kind.values()):
        kind = chooser.choice([kind for kind, some in by_kind.items() if some])
        chosen.append(by_kind[kind].pop())
    return [_made(answer, edit) for edit in chosen]


def _made(answer: str, edit: Edit) -> Mutant:
    line = answer.count("\n", 0, edit.begin) + 1
    source = answer[: edit.begin] + edit.text + answer[edit.end :]
    return Mutant(edit.kind, line, answer[edit.begin : edit.end], source)


def edits(answer: str) -> Iterator[Edit]:
    for text, begin in _cuda_texts(answer):
        for kind, first, last, new in _edits_of(text):
            yield Edit(kind, begin + first, begin + last, new)


def _cuda_texts(answer: str) -> Iterator[tuple[str, int]]:
    """Return the literals with kernels that occur unchanged in the file."""
    for node in ast.walk(ast.parse(answer)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
            begin = answer.find(node.value)
            if begin >= 0:
                yield node.value, begin


_Places = Iterator[tuple[str, int, int, str]]


def _edits_of(text: str) -> _Places:
    tokens = [token for token in tokenize(text) if not token.blank]
    bodies = list(_bodies(tokens))
    for first, last in bodies:
        yield from _of_tokens(tokens[first:last])
    begin_and_end = [(tokens[first].at, tokens[last - 1].at) for first, last in bodies]

    def is_in_a_kernel(place: int) -> bool:
        return any(begin <= place < end for begin, end in begin_and_end)

    patterns: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str], bool], ...] = (
        ("guard", _GUARD, lambda found: found[0].replace(found[1], "(false)" if "||" in found[1] else "(true)"), True),
        ("element type", _DECLARED, lambda found: "int", True),
        ("tail", _ROUNDING_UP, lambda found: "", False),
    )
    for kind, pattern, new, of_kernels in patterns:
        for found in pattern.finditer(text):
            if is_in_a_kernel(found.start()) == of_kernels:
                yield kind, found.start(), found.end(), new(found)


def _of_tokens(tokens: list[Token]) -> _Places:
    depths = list(accumulate({"(": 1, ")": -1}.get(token.text, 0) for token in tokens))
    for at, (before, token, after) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False), 1):
        begin, end = token.at, token.at + len(token.text)
        if token.text in _OTHER and _is_between_values(before, after):
            is_bound = token.text in _BOUNDS
            if not is_bound or depths[at] > 0:  # others are of templates
                yield "bound" if is_bound else "operator", begin, end, _OTHER[token.text]
        elif token.text == "]" and before.text != "[" and after.text != ";":
            yield "index", begin, end, " + 1]"
        elif token.text == "__syncthreads":
            yield "barrier", begin, end, "void"  # void() is an expression that does nothing
        elif token.kind is Kind.NUMBER and before.text not in ("[", "<<", ">>"):
            yield "constant", begin, end, f"({token.text} + 1)"


def _is_between_values(before: Token, after: Token) -> bool:
    is_value = before.kind in (Kind.NAME, Kind.NUMBER) or before.text in (")", "]")
    return is_value and before.text not in _OF_TYPES and (after.kind in (Kind.NAME, Kind.NUMBER) or after.text == "(")


def _bodies(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield each device function from its opening brace to the end of its closing one."""
    at = 0
    while at < len(tokens):
        if tokens[at].text not in _DEVICE_CODE:
            at += 1
            continue
        first = next((i for i in range(at, len(tokens)) if tokens[i].text in ("{", ";")), len(tokens) - 1)
        at = first + 1
        if tokens[first].text == "{":
            depth = 1
            while at < len(tokens) and depth:
                depth += {"{": 1, "}": -1}.get(tokens[at].text, 0)
                at += 1
            yield first, at
