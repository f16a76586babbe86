"""Read the assignments of a Python source."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def values_assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name and value of an assignment: `a = 1`, `a = b = 1` or `a, b = 1, 2`; nothing for other nodes."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            yield target.id, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))
