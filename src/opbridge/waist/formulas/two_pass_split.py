"""Write a formula that needs two passes over memory as two operators that need one each."""

from __future__ import annotations

from collections.abc import Sequence

from opbridge.waist.formulas.nodes import Node
from opbridge.waist.formulas.parser import Program
from opbridge.waist.formulas.short_definitions import in_plain_functions
from opbridge.waist.rules.syntax import Expr, Name
from opbridge.waist.schema import Schema

Statements = Sequence[tuple[str, Expr]]
"""The named parts, and the outputs, whose name is empty."""


def two_operators_of(program: Program, first: Node | None) -> str:
    """Return the declarations of both operators as text; empty if the reduction has no text of its own."""
    plain = in_plain_functions(tuple(node for node, _ in program.reductions))
    part = next((expr for node, expr in program.reductions if plain[node] is first), None)
    schema, statements = program.schema, program.statements
    if part in [expr for label, expr in statements if not label]:
        # That would be the formula again: what stands within it.
        part = next((expr for _, expr in program.reductions if part and expr != part and expr in part.walk()), None)
    if part is None:
        return ""
    name = _free("part", {argument.name for argument in schema.arguments} | {name for name, _ in statements})

    def replaced(node: Expr) -> Expr:
        return Name(name) if node == part else node

    before = next(place for place, (_, expr) in enumerate(statements) if part in expr.walk())
    rest = [(label, expr.rewritten(replaced)) for label, expr in statements]
    returns = str(schema).rpartition(" -> ")[2]
    lines = _declared(schema, f"{schema.name}_{name}", "Tensor", [*statements[:before], ("", part)])
    lines += _declared(schema, schema.name, returns, rest, f"Tensor {name}")
    return "\n".join(["make it two operators:", *lines])


def _declared(schema: Schema, name: str, returns: str, statements: Statements, more: str = "") -> list[str]:
    used = _needed(statements)
    names = {node.id for _, expr in used for node in expr.walk() if isinstance(node, Name)}
    tensors = [str(argument) for argument in schema.tensor_arguments if argument.name in names]
    others = [str(argument) for argument in schema.attributes if argument.name in names]
    signature = ", ".join([*tensors, *([more] if more else []), *(["*", *others] if others else [])])
    outputs = ", ".join(str(expr) for label, expr in used if not label)
    text = "; ".join([*(f"{label} = {expr}" for label, expr in used if label), outputs])
    return [f"    - func: {name}({signature}) -> {returns}", f"      formula: {text}"]


def _needed(statements: Statements) -> Statements:
    """Return the statements without parts that are not used any more."""
    found: list[tuple[str, Expr]] = []
    names: set[str] = set()
    for label, expr in reversed(statements):
        if not label or label in names:
            found.insert(0, (label, expr))
            names |= {node.id for node in expr.walk() if isinstance(node, Name)}
    return found


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
