"""Names and what a Python source gives them to."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def values_assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Of an assignment, and of nothing else: `a = 1`, `a = b = 1` and `a, b = 1, 2`."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))
