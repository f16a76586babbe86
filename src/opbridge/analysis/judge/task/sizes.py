"""Read the sizes in the file of a task, and write others in their place.

A size is known by its name at the top of the file, or by its number if `get_inputs` contains the number itself.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from opbridge.analysis.judge.task.assignments import values_assigned

FUNCTIONS = ("get_inputs", "get_init_inputs")


def published_sizes(reference: str) -> dict[str, object]:
    """Return the sizes of a task, by name or number."""
    tree = ast.parse(reference)
    values = {name: number(value) for node in tree.body for name, value in values_assigned(node)}
    written = _Written({})
    written.visit_functions(tree)
    return {name: value for name, value in values.items() if value is not None} | written.found


def sizes_by_default(reference: str) -> dict[str, object]:
    """Return the default sizes of the parameters of the task functions, by name."""
    found: dict[str, object] = {}
    for node in ast.walk(ast.parse(reference)):
        if isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "__init__"):
            arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for argument, default in zip(arguments, node.args.defaults, strict=True):
                if (value := number(default)) is not None:
                    found[argument.arg] = value
    return found


def with_sizes(reference: str, sizes: Mapping[str, object]) -> ast.Module:
    """Return the syntax tree of a task with other sizes."""
    tree = ast.parse(reference)
    _Written(sizes).visit_functions(tree)
    for node in tree.body:
        for name, value in values_assigned(node):
            if name in sizes:
                _replace(node, value, ast.copy_location(_as_expression(sizes[name]), value))
    return ast.fix_missing_locations(tree)


class _Written(ast.NodeTransformer):
    """Find or replace the numbers in the functions that create inputs."""

    def __init__(self, sizes: Mapping[str, object]) -> None:
        self._sizes = sizes
        self.found: dict[str, object] = {}

    def visit_functions(self, tree: ast.Module) -> None:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
                self.visit(node)

    def visit(self, node: ast.AST) -> ast.AST:
        size = number(node) if isinstance(node, ast.expr) else None
        if not isinstance(size, int):
            return self.generic_visit(node)
        self.found[str(size)] = size
        if str(size) not in self._sizes:
            return node
        return ast.copy_location(_as_expression(self._sizes[str(size)]), node)


def _as_expression(value: object) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _replace(assignment: ast.stmt, value: ast.expr, new: ast.expr) -> None:
    assert isinstance(assignment, ast.Assign)
    if assignment.value is value:
        assignment.value = new
    elif isinstance(assignment.value, ast.Tuple):
        assignment.value.elts = [new if item is value else item for item in assignment.value.elts]


def number(node: ast.expr) -> object:
    """Return a whole number, a product or power of numbers, or a sequence of them; None for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and node.value > 0 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow)):
        left, right = number(node.left), number(node.right)
        if isinstance(left, int) and isinstance(right, int):
            return left * right if isinstance(node.op, ast.Mult) else left ** min(right, 40)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [number(item) for item in node.elts]
        if items and None not in items:
            return tuple(items) if isinstance(node, ast.Tuple) else items
    return None
