"""Find the numbers in an answer, which may be sizes of its task that it relies on."""

from __future__ import annotations

import ast
import re

from opbridge.analysis.judge.task.assignments import values_assigned
from opbridge.analysis.judge.task.sizes import FUNCTIONS, number

_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIMENSION = re.compile(r"\b(size|stride|shape|(size|stride)s\(\))[(\[] *-?\d+ *[)\]]")
"""A number that selects a dimension, and is not compared with a size."""


def numbers_named(answer: str) -> set[int]:
    """Return the whole numbers in the code of an answer, except those in comments and copied task functions."""
    text = _DIMENSION.sub("", _own_text(answer))
    return {int(number) for number in _NUMBER.findall(text) if len(number) < 10}


def _own_text(answer: str) -> str:
    """Return the text without what answers copy from their tasks, and without comments."""
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
