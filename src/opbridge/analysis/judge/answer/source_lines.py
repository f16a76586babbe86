"""Find the place in the text of an answer, usually in a source that the text contains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from opbridge.analysis.judge.answer.formats import part_in
from opbridge.analysis.judge.judgement import harmless
from opbridge.analysis.judge.task.assignments import values_assigned

_GENERATED = {"cuda.cu": ("cuda_sources", 3), "main.cpp": ("cpp_sources", 1)}
"""The argument that load_inline writes to each file, and the number of lines that it adds before."""


def line_of(place: str, name: str, source: str) -> int | None:
    """Return the line in the file `name` of the answer; None if it cannot be determined for sure."""
    file, _, line = place.rpartition(":")
    if not line.isdecimal():
        return None
    if file == harmless(name):
        return int(line)
    if not name.endswith(".py"):
        return None
    argument, before = _GENERATED.get(file, ("", 0))
    texts = _texts(source, argument) if argument else _assigned(source, part_in(file))
    found = {_within(some, int(line) - before, source) for some in texts}
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class _Text:
    """A string literal and the line where it begins."""

    lines: tuple[str, ...]
    begins: int


def _texts(source: str, argument: str) -> Iterator[list[_Text]]:
    """Yield the literals in an argument of each extension that the source builds from text."""
    tree = _tree(source)
    names = _names(tree)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == argument:
                    yield list(_written(keyword.value, names))


def _assigned(source: str, name: str) -> Iterator[list[_Text]]:
    """Yield the literals that an answer in Ascend C assigns to a name."""
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
    """Return the line of the source, given a line number counted from 1 through all texts in order."""
    lines = source.split("\n")
    for text in texts:
        if line <= len(text.lines):
            at = text.begins + line - 1
            # Escaped line ends and concatenated literals shift lines, so verify the text.
            return at if line > 0 and at <= len(lines) and text.lines[line - 1] in lines[at - 1] else None
        line -= len(text.lines)
    return None
