"""Smaller sizes for a task, by the numbers at the top of its file.

A size keeps its divisibility by powers of two up to 64, because answers may rely on that, and stays as it is where the
answer names it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

_SMALL = 64
"""Sizes up to this stay: windows, strides, heads and groups are among them."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


SHRUNK, LOOSE, PUBLISHED, ODD = "shrunk", "loosely shrunk", "published", "odd"


@dataclass(frozen=True)
class Plan:
    """One set of sizes.

    What is loosely shrunk keeps no number of the answer's and is divisible by 8 at most: an answer that is right there
    is right, and one that is not may have relied on its task.
    """

    kind: str
    sizes: tuple[tuple[str, object], ...] = ()
    """What stands at the top of the file, and is something else now."""

    @property
    def is_small(self) -> bool:
        return self.kind in (SHRUNK, LOOSE)

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.sizes) or "the published shapes"


def plans(published: dict[str, object], answer: str) -> list[Plan]:
    """From the smallest that the reference may take to the published ones; odd ones last."""
    named = {int(number) for number in _NUMBER.findall(answer) if len(number) < 10}

    def changed(kind: str, change: Callable[[int], int]) -> Plan:
        new = {name: _mapped(value, change) for name, value in published.items()}
        return Plan(kind, tuple((name, value) for name, value in new.items() if value != published[name]))

    def kept(change: Callable[[int], int], above: int) -> Callable[[int], int]:
        return lambda size: size if size <= above or size in named else change(size)

    small = [changed(SHRUNK, kept(shrunk, above)) for above in (16, _SMALL, 512)]
    loose = [changed(LOOSE, partial(_unless, above)) for above in (16, _SMALL)]
    odd = changed(ODD, kept(lambda size: shrunk(size) + 1, 16))
    all_plans = (*small, Plan(PUBLISHED), odd, *loose)
    return list(dict.fromkeys(plan for plan in all_plans if plan.sizes or plan.kind == PUBLISHED))


def shrunk(size: int) -> int:
    """A smaller size that is divisible by the same power of two, up to 64."""
    unit = min(size & -size, _SMALL)
    if size <= _SMALL:
        return unit * 2 if 2 * unit <= size and unit >= 8 else size
    return unit if unit >= 32 else unit * (-(-32 // unit) | 1)


def _unless(above: int, size: int) -> int:
    return size if size <= above else smallest(size)


def smallest(size: int) -> int:
    """The same up to 8."""
    unit = min(size & -size, 8)
    return unit if unit == 8 and size <= _SMALL else unit * (-(-16 // unit) | 1)


def with_sizes(reference: str, plan: Plan) -> ast.Module:
    tree = ast.parse(reference)
    new = dict(plan.sizes)
    for name, assignment in _assignments(tree):
        if name in new:
            assignment.value = ast.copy_location(ast.parse(repr(new[name]), mode="eval").body, assignment.value)
    return ast.fix_missing_locations(tree)


def sizes_at_the_top(reference: str) -> dict[str, object]:
    values = {name: _number(assignment.value) for name, assignment in _assignments(ast.parse(reference))}
    return {name: value for name, value in values.items() if value is not None}


def sizes_by_default(reference: str) -> dict[str, object]:
    """What the parameters of a task's functions are, where nothing else is said."""
    found: dict[str, object] = {}
    for node in ast.walk(ast.parse(reference)):
        if isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "__init__"):
            arguments = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for argument, default in zip(arguments, node.args.defaults, strict=True):
                if (value := _number(default)) is not None:
                    found[argument.arg] = value
    return found


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.Assign]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node


def _number(node: ast.expr) -> object:
    """A whole number, a product of such, or a tuple; None for all else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and node.value > 0 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow)):
        left, right = _number(node.left), _number(node.right)
        if isinstance(left, int) and isinstance(right, int):
            return left * right if isinstance(node.op, ast.Mult) else left ** min(right, 40)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_number(item) for item in node.elts]
        if items and None not in items:
            return tuple(items) if isinstance(node, ast.Tuple) else items
    return None


def _mapped(value: object, change: Callable[[int], int]) -> object:
    if isinstance(value, int):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    return value
