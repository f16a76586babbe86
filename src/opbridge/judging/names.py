"""The numbers that stand in an answer, which may be sizes of its task that it relies on."""

from __future__ import annotations

import ast
import re

from opbridge.judging.assignments import values_assigned
from opbridge.judging.sizes import FUNCTIONS, number

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIMENSION = re.compile(r"\b(size|stride|shape|(size|stride)s\(\))[(\[] *-?\d+ *[)\]]")
"""A number that says which, and none that a size is held against."""


def numbers_named(answer: str) -> set[int]:
    text = _DIMENSION.sub("", _own_text(answer))
    return {int(number) for number in _NUMBER.findall(text) if len(number) < 10}


def _own_text(answer: str) -> str:
    """Without what answers repeat of their tasks, and without comments."""
    try:
        tree = ast.parse(answer)
    except SyntaxError:
        return _COMMENT.sub(" ", answer)
    tree.body = [node for node in tree.body if not _is_of_the_task(node)]
    return _COMMENT.sub(" ", ast.unparse(tree).replace("\\n", "\n"))


def _is_of_the_task(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in FUNCTIONS
    return isinstance(node, ast.Assign) and all(number(value) is not None for _, value in values_assigned(node))
