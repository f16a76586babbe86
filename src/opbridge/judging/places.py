"""Where in an answer's own text a place is, which mostly is one in a source that its text holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from opbridge.judging.answer_formats import part_in
from opbridge.judging.assignments import values_assigned

_GENERATED = {"cuda.cu": ("cuda_sources", 3), "main.cpp": ("cpp_sources", 1)}
"""What load_inline writes to a file: which of its arguments, behind how many lines of its own."""


def line_of(place: str, name: str, source: str) -> int | None:
    """The line of the answer's file `name`; None where it cannot be told for sure."""
    file, _, line = place.rpartition(":")
    if not line.isdecimal():
        return None
    if file == name:
        return int(line)
    if not name.endswith(".py"):
        return None
    argument, before = _GENERATED.get(file, ("", 0))
    texts = _texts(source, argument) if argument else _assigned(source, part_in(file))
    found = {_within(some, int(line) - before, source) for some in texts}
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class _Text:
    """A literal, and the line that it begins in."""

    lines: tuple[str, ...]
    begins: int


def _texts(source: str, argument: str) -> Iterator[list[_Text]]:
    """Of each extension given as text, what that argument holds, where it is written out."""
    tree = _tree(source)
    names = _names(tree)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == argument:
                    yield list(_written(keyword.value, names))


def _assigned(source: str, name: str) -> Iterator[list[_Text]]:
    """What an answer in Ascend C gives that name to."""
    if value := _names(_tree(source)).get(name):
        yield list(_written(value, {}))


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _names(tree: ast.Module) -> dict[str, ast.expr]:
    return {name: value for node in ast.walk(tree) for name, value in values_assigned(node)}


def _written(value: ast.expr, names: dict[str, ast.expr]) -> Iterator[_Text]:
    if isinstance(value, ast.Name):
        value = names.get(value.id, value)
    if isinstance(value, (ast.List, ast.Tuple)):
        yield from chain.from_iterable(_written(one, names) for one in value.elts)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield _Text(tuple(value.value.split("\n")), value.lineno)


def _within(texts: list[_Text], line: int, source: str) -> int | None:
    """The line counts from 1, in all texts one after another."""
    lines = source.split("\n")
    for text in texts:
        if line <= len(text.lines):
            at = text.begins + line - 1
            # Of a literal with escaped ends of lines, or of several, lines count otherwise.
            return at if line > 0 and at <= len(lines) and text.lines[line - 1] in lines[at - 1] else None
        line -= len(text.lines)
    return None
