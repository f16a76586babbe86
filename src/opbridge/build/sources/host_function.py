"""The host function that starts a bare kernel for an operator: a function on kernel.h, derived from the schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opbridge.base.errors import InputError, UnsupportedError
from opbridge.waist.rules.launch import Launch, parse_launch
from opbridge.waist.rules.syntax import (
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
    Expr,
    Float,
    IfElse,
    Index,
    Int,
    Name,
    Unary,
)
from opbridge.waist.rules.value_kinds import NOWHERE, Kind, kind_of
from opbridge.waist.schema import Argument, OptionalType, Schema

_ATTRIBUTES = {
    Kind.INT: "int64_t",
    Kind.FLOAT: "double",
    Kind.BOOL: "bool",
    Kind.STR: "ob::String",
    Kind.INTS: "ob::Ints",
    Kind.FLOATS: "ob::Floats",
    Kind.BOOLS: "ob::Bools",
    Kind.DTYPE: "ob::DType",
}


class StartingFunction:
    """The part of the host function that kernels of all devices share.

    The generated code calls the functions of opbridge/launch_values.h.
    """

    def __init__(self, operator: str, source: Path, schema: Schema, launch: Mapping[str, str]) -> None:
        self.operator = operator
        self.source = source
        self.schema = schema
        self.launch = parse_launch(launch, schema, NOWHERE) if launch else Launch()
        self.kinds = {argument.name: kind_of(argument.type) for argument in schema.arguments}

    def parameter(self, argument: Argument, element: str) -> str:
        """Return a parameter of the function that hosts call.

        Raises:
            UnsupportedError: The type of the argument is not supported.
        """
        kind = self.kinds[argument.name]
        if kind is Kind.TENSOR:
            spelled = f"ob::{'InOut' if argument.mutable else 'In'}<{element}>"
        elif kind in _ATTRIBUTES:
            spelled = _ATTRIBUTES[kind]
        else:
            raise UnsupportedError(
                f"{self.operator}: opbridge starts no kernel that takes {kind.value} ('{argument.name}'); write a "
                f"function on opbridge/kernel.h in {self.source.name} that does"
            )
        spelled = f"ob::Optional<{spelled}>" if isinstance(argument.type, OptionalType) else spelled
        return f"{spelled} a_{argument.name}"

    def expression(self, expr: Expr | None) -> str:
        """Return the C++ code of an expression.

        Raises:
            InputError: The expression is not allowed in `launch`.
        """
        match expr:
            case Int(value):
                return f"int64_t{{{value}}}"
            case Float(value):
                return repr(value)
            case Bool(value):
                return "true" if value else "false"
            case Name(id):
                return self.value(id)
            case Attribute(Name(id), "numel" | "ndim" as what):
                return f"{self.value(id)}.{what}()"
            case Index(Attribute(Name(id), "shape"), (item,)):
                return f"{self.value(id)}.size({self.expression(item)})"
            case Index(Name(id), (item,)):
                return f"{self.value(id)}[{self.expression(item)}]"
            case Unary(op, operand):
                return f"({'!' if op == 'not' else '-'}{self.expression(operand)})"
            case Binary("//" | "%" as op, left, right):
                function = "floor_divide" if op == "//" else "modulo"
                return f"ob::launch::{function}({self.expression(left)}, {self.expression(right)})"
            case Binary("/", left, right):
                return f"(static_cast<double>({self.expression(left)}) / {self.expression(right)})"
            case Binary("+" | "-" | "*" as op, left, right):
                return f"({self.expression(left)} {op} {self.expression(right)})"
            case Compare("==" | "!=" | "<" | "<=" | ">" | ">=" as op, left, right):
                return f"({self.expression(left)} {op} {self.expression(right)})"
            case BoolOp(op, left, right):
                return f"({self.expression(left)} {'&&' if op == 'and' else '||'} {self.expression(right)})"
            case IfElse(body, condition, orelse):
                return f"({self.expression(condition)} ? {self.expression(body)} : {self.expression(orelse)})"
            case Call("min" | "max" as name, (left, right)):
                return f"std::{name}({self.expression(left)}, {self.expression(right)})"
            case Call("ceil_div", (left, right)):
                return f"ob::launch::ceil_divide({self.expression(left)}, {self.expression(right)})"
        raise InputError(
            f"{self.operator}: launch cannot hold {expr}",
            hint="it takes numbers, arguments, x.numel, x.ndim, x.shape[0], arithmetic, min, max, ceil_div",
        )

    def value(self, name: str) -> str:
        """Return the C++ code of an argument's value; the code checks that an optional argument is given."""
        argument = self.schema.argument(name)
        return f'ob::launch::given(a_{name}, "{name}")' if isinstance(argument.type, OptionalType) else f"a_{name}"
