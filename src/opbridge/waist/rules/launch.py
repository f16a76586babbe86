"""The `launch` rule of an Ascend C kernel: the number of its blocks, and its parameters besides the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.base.names import is_cpp_name
from opbridge.waist.rules.lowering import Lowering
from opbridge.waist.rules.parser import Source, parse_expression
from opbridge.waist.rules.syntax import Call, Expr
from opbridge.waist.rules.value_kinds import Kind, ManifestPlace
from opbridge.waist.schema import Schema

BLOCKS = "blockDim"
"""The key for the number of blocks; all others are parameters of the kernel."""

_EXAMPLE = f"launch: {{{BLOCKS}: 8, totalLength: x.numel}}"
_KINDS = (Kind.INT, Kind.FLOAT, Kind.BOOL)
_FUNCTIONS = ("min", "max", "abs", "int", "len", "sum", "prod", "ceil_div")


@dataclass(frozen=True)
class Launch:
    """The values that a kernel launch needs."""

    values: tuple[tuple[str, Expr], ...] = ()
    """The value of each kernel parameter: a number, or a struct as a call with its fields by name."""

    def __getitem__(self, name: str) -> Expr | None:
        return dict(self.values).get(name)

    def field(self) -> dict[str, str]:
        """Return the rule as `parse_launch` reads it."""
        return {name: str(expr) for name, expr in self.values}


def parse_launch(value: object, schema: Schema, place: ManifestPlace) -> Launch:
    """Parse a mapping from kernel parameters to expressions.

    Raises:
        RuleError: A name or an expression does not fit.
    """
    if not isinstance(value, Mapping):
        raise place.error(
            f"expected a mapping from the kernel's parameters to numbers, got {type(value).__name__}",
            f"for example: {_EXAMPLE}",
        )
    return Launch(tuple((name, _parse(name, text, schema, place.child(name))) for name, text in value.items()))


def is_struct(expr: Expr) -> bool:
    """Return whether the expression is a struct with its fields."""
    return isinstance(expr, Call) and expr.name not in _FUNCTIONS


def _parse(name: str, text: object, schema: Schema, place: ManifestPlace) -> Expr:
    if not is_cpp_name(name) or "::" in name:
        raise place.error(f"'{name}' is not the name of a parameter", f"for example: {_EXAMPLE}")
    source = place.text(text, _EXAMPLE)
    expr = parse_expression(source.text, source.where)
    if not is_struct(expr):
        _check(expr, source, schema, (Kind.INT,) if name == BLOCKS else _KINDS)
        return expr
    assert isinstance(expr, Call)
    if name == BLOCKS or expr.args or not expr.kwargs:
        hint = f"{expr.name}(totalLength=x.numel, tileNum=8), with a value for each field"
        raise source.error(
            f"{expr} is not a {'number' if name == BLOCKS else 'struct of the kernel'}", expr.offset, hint
        )
    for _, item in expr.kwargs:
        _check(item, source, schema, _KINDS)
    return expr


def _check(expr: Expr, source: Source, schema: Schema, kinds: tuple[Kind, ...]) -> None:
    lowering = Lowering(schema, source)
    lowered = lowering.any(expr)
    if lowered.kind not in kinds:
        raise lowering.error(f"expected {kinds[0].value}, got {lowered.kind.value}: {expr}", expr, "as in x.shape[0]")
