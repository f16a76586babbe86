"""What is seen of an answer before it runs."""

from __future__ import annotations

import ast
import re

_HAS_DERIVATIVES = re.compile(r"\bautograd\s*(\.|::)\s*Function\b|\bregister_autograd\b")


def has_gradients(source: str) -> bool:
    """Whether it has derivatives of its own."""
    return _HAS_DERIVATIVES.search(source) is not None


def imports(source: str, package: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == package for name in names):
            return True
    return False
