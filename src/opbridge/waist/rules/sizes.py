"""The evaluation of shape and dtype expressions in Python; rule_vm.h does the same in C++, failure by failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from opbridge.base.errors import RuleError
from opbridge.waist.rules.dtypes import DTYPES, promote
from opbridge.waist.rules.evaluation import Evaluator
from opbridge.waist.rules.syntax import Call, Compare, Expr, Name
from opbridge.waist.rules.value_kinds import Kind, kind_of
from opbridge.waist.schema import Schema

Shape = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Tensor:
    """The part of a tensor that rules see."""

    shape: Shape
    dtype: str

    @property
    def ndim(self) -> int:
        return len(self.shape)


class _Tensors(tuple[_Tensor, ...]):
    """A list of tensors, which is not a shape even if it is empty."""

    __slots__ = ()


class SizeEvaluator(Evaluator):
    """An evaluator of rules over the shapes, dtypes and values of one call's arguments."""

    def __init__(self, schema: Schema, arguments: Mapping[str, object], dtype_name: Callable[[Any], str]) -> None:
        def tensor(value: Any) -> _Tensor:
            return _Tensor(tuple(value.shape), dtype_name(value.dtype))

        def seen(kind: Kind, value: Any) -> object:
            if value is None:
                return None
            if kind is Kind.TENSORS:
                return _Tensors(map(tensor, value))
            return tensor(value) if kind is Kind.TENSOR else dtype_name(value) if kind is Kind.DTYPE else value

        environment = {
            argument.name: seen(kind_of(argument.type), arguments[argument.name]) for argument in schema.arguments
        }
        super().__init__(environment, _FUNCTIONS)
        self.tensors = {argument.name for argument in schema.tensor_arguments}

    def shape(self, expr: Expr) -> Shape:
        """Evaluate a shape.

        Raises:
            RuleError: A size is negative or does not fit in 64 bits.
        """
        shape: Shape = self.run(expr)
        for size in shape:
            # A symbolic size is not an int; the framework checks it.
            if isinstance(size, int) and size < 0:
                raise RuleError(f"the shape is {list(shape)}, and no size can be negative")
            if isinstance(size, int) and size >= 2**63:
                raise RuleError("a number does not fit in 64 bits")
        return shape

    def run(self, node: Expr) -> Any:
        """Evaluate a node; a division by zero raises RuleError."""
        match node:
            case Compare("is" | "is not" as op, Name(id)):
                return (self.environment[id] is None) == (op == "is")
        try:
            return super().run(node)
        except ZeroDivisionError:
            raise RuleError("division by zero") from None

    def name(self, name: str) -> Any:
        """Return the value of a name; None raises RuleError."""
        value = super().name(name)
        if value is None:
            raise RuleError(f"the rule needs '{name}', which is None")
        return value

    def binary(self, op: str, left: object, right: Any) -> object:
        """Apply a binary operator; a negative power raises RuleError."""
        if op == "**" and right < 0:
            raise RuleError(f"the power {right} is negative")
        return super().binary(op, left, right)

    def call(self, node: Call) -> Any:
        """Evaluate a call; `broadcast` and `promote` ignore missing tensors."""
        combine = _COMBINATIONS.get(node.name)
        return super().call(node) if combine is None else combine(map(self._operand, node.args))

    def _operand(self, arg: Expr) -> object:
        """Return the value of an operand, or None for a missing tensor."""
        return self.environment[arg.id] if isinstance(arg, Name) and arg.id in self.tensors else self.run(arg)


def _parts(operands: Iterable[object], attribute: str) -> Iterator[Any]:
    """Yield the shapes or dtypes to combine, lazily: the first failure is the one that rule_vm.h finds first."""
    for operand in operands:
        if isinstance(operand, _Tensors):
            yield from (getattr(tensor, attribute) for tensor in operand)
        elif operand is not None:
            yield getattr(operand, attribute) if isinstance(operand, _Tensor) else operand


def _broadcast(operands: Iterable[object]) -> Shape:
    parts = map(tuple, _parts(operands, "shape"))
    result: Shape | None = next(parts, None)
    if result is None:
        raise RuleError("broadcast() is given no tensor")
    return reduce(_broadcast_two, parts, result)


def _broadcast_two(a: Shape, b: Shape) -> Shape:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    lead = len(longer) - len(shorter)
    sizes = list(longer[:lead])
    for m, n in zip(longer[lead:], shorter, strict=True):
        if m == n or n == 1:
            sizes.append(m)
        elif m == 1:
            sizes.append(n)
        else:
            raise RuleError(f"shapes {list(a)} and {list(b)} do not broadcast")
    return tuple(sizes)


def _promote(operands: Iterable[object]) -> str:
    parts = _parts(operands, "dtype")
    result: str | None = next(parts, None)
    if result is None:
        raise RuleError("promote() is given no tensor")
    return reduce(_promote_two, parts, result)


def _promote_two(a: str, b: str) -> str:
    joined = promote(a, b)
    if joined is None:
        raise RuleError(f"{a} and {b} have no common dtype")
    return joined


def _truncate(value: Any) -> object:
    try:
        return math.trunc(value)
    except (OverflowError, ValueError):
        raise RuleError("int() of a number that is not finite") from None


_COMBINATIONS: dict[str, Callable[[Iterable[object]], object]] = {"broadcast": _broadcast, "promote": _promote}
_FUNCTIONS: dict[str, object] = {
    "min": min,
    "max": max,
    "abs": abs,
    "int": _truncate,
    "len": len,
    "sum": sum,
    "prod": math.prod,
    "ceil_div": lambda a, b: -(-a // b),
    **{name: name for name in DTYPES},
}
