"""The `out` rule: shape and dtype of every new output, checked on load, run in Python or compiled for rule_vm.h."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opbridge.base.errors import RuleError, did_you_mean
from opbridge.waist.rules.lowering import Lowering
from opbridge.waist.rules.parser import Source, parse_expression
from opbridge.waist.rules.sizes import SizeEvaluator
from opbridge.waist.rules.syntax import Attribute, Call, Expr, Index, ListOf, Name
from opbridge.waist.rules.value_kinds import NOWHERE, Kind, ManifestPlace, kind_of
from opbridge.waist.schema import Schema

_EXAMPLE = "out: x, out: broadcast(x, y) or out: {shape: [x.shape[0], n], dtype: x.dtype}"


@dataclass(frozen=True)
class Like:
    """The output has the shape, dtype and layout of an argument."""

    argument: str

    @property
    def shape(self) -> Expr:
        """The expression for the shape of the argument."""
        return Attribute(Name(self.argument), "shape")

    @property
    def dtype(self) -> Expr:
        """The expression for the dtype of the argument."""
        return Attribute(Name(self.argument), "dtype")

    def field(self) -> object:
        """Return the rule as `parse_out` reads it."""
        return self.argument


@dataclass(frozen=True)
class ShapeDtype:
    """The output has a shape and a dtype that expressions compute."""

    shape: Expr
    dtype: Expr

    def field(self) -> object:
        """Return the rule as `parse_out` reads it."""
        return {"shape": str(self.shape), "dtype": str(self.dtype)}


@dataclass(frozen=True)
class FromKernel:
    """The kernel itself describes the output for the arguments of each call."""

    def field(self) -> None:
        """Return None: there is no rule to print."""
        return


OutRule = Like | ShapeDtype | FromKernel


@dataclass(frozen=True)
class Program:
    """The words for `evaluate_shape` and `evaluate_dtype` of rule_vm.h; empty if the kernel describes the output."""

    words: tuple[int, ...]


def parse_out(
    value: object, schema: Schema, place: ManifestPlace = NOWHERE, *, kernel_may_say: bool = False
) -> tuple[OutRule, ...]:
    """Parse the rules of `schema.new_outputs`, in their order.

    Raises:
        RuleError: A rule is missing or does not fit the schema.
    """
    outputs = schema.new_outputs
    for output in outputs:
        if kind_of(output.type) is not Kind.TENSOR:
            raise place.error(
                f"{schema.full_name} returns {output.type}, which no out rule describes", "return tensors one by one"
            )
    if value is None or not outputs:
        if value is None and (kernel_may_say or not outputs):
            return (FromKernel(),) * len(outputs)
        message = "needs an out rule" if outputs else "has no new output for an out rule"
        raise place.error(f"{schema.full_name} {message}", f"for example: {_EXAMPLE}" if outputs else f"it is {schema}")
    listed = isinstance(value, (list, tuple))
    rules = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(rules) != len(outputs):
        expected = "1 rule" if len(outputs) == 1 else f"{len(outputs)} rules"
        raise place.error(f"expected {expected}, one for each new output, got {len(rules)}", f"it is {schema}")
    return tuple(_parse_one(rule, schema, place.child(index) if listed else place) for index, rule in enumerate(rules))


def _parse_one(value: object, schema: Schema, place: ManifestPlace) -> OutRule:
    if isinstance(value, Mapping):
        return _parse_fields(value, schema, place)
    source = place.text(value, _EXAMPLE)
    expr = parse_expression(source.text, source.where)
    match expr:
        case Name(id):
            Lowering(schema, source).lower(expr, Kind.TENSOR)
            return Like(id)
        case Call("broadcast", args):
            lowering = Lowering(schema, source)
            lowering.lower(expr, Kind.INTS)
            tensors = tuple(arg for arg in args if lowering.any(arg).kind in (Kind.TENSOR, Kind.TENSORS))
            dtype = Call("promote", tensors) if tensors else _default_dtype(schema, place)
            return ShapeDtype(expr, dtype)
        case Index():
            Lowering(schema, source).lower(expr, Kind.TENSOR)
            return ShapeDtype(Attribute(expr, "shape"), Attribute(expr, "dtype"))
    raise source.error(f"expected a tensor, got {expr}", expr.offset, f"for example: {_EXAMPLE}")


def _parse_fields(fields: Mapping[Any, object], schema: Schema, place: ManifestPlace) -> OutRule:
    for key in fields:
        if key not in ("shape", "dtype"):
            hint = did_you_mean(str(key), ("shape", "dtype")) or "an out rule has shape and dtype"
            raise place.child(key).error(f"unknown key '{key}'", hint)
    if "shape" not in fields:
        raise place.error("an out rule needs a shape", f"for example: {_EXAMPLE}")
    shape = _parse_shape(fields["shape"], schema, place.child("shape"))
    if "dtype" not in fields:
        return ShapeDtype(shape, _default_dtype(schema, place))
    return ShapeDtype(shape, _parse_checked(fields["dtype"], schema, Kind.DTYPE, place.child("dtype"), "promote(x, y)"))


def _parse_shape(value: object, schema: Schema, place: ManifestPlace) -> Expr:
    if not isinstance(value, (list, tuple)):
        return _parse_checked(value, schema, Kind.INTS, place, "[x.shape[0], 1]")
    # A YAML loader may have read `[x.shape[0], 1]` as a list.
    return ListOf(
        tuple(
            _parse_checked(item, schema, Kind.INT, place.child(index), "x.shape[0]") for index, item in enumerate(value)
        )
    )


def _parse_checked(value: object, schema: Schema, kind: Kind, place: ManifestPlace, example: str) -> Expr:
    source = place.text(value, example)
    expr = parse_expression(source.text, source.where)
    Lowering(schema, source).lower(expr, kind)
    return expr


def _default_dtype(schema: Schema, place: ManifestPlace) -> Expr:
    tensors = [
        Name(argument.name) for argument in schema.arguments if kind_of(argument.type) in (Kind.TENSOR, Kind.TENSORS)
    ]
    if not tensors:
        raise place.error("an out rule without tensors to take the dtype from needs a dtype", "dtype: float32")
    single = len(tensors) == 1 and kind_of(schema.argument(tensors[0].id).type) is Kind.TENSOR
    return Attribute(tensors[0], "dtype") if single else Call("promote", tuple(tensors))


def compile_out(rule: OutRule, schema: Schema) -> Program:
    """Compile a rule for rule_vm.h.

    The words are: the index of the argument that the output is like, or -1; the number of shape words; the shape words;
    the dtype words.
    """
    if isinstance(rule, FromKernel):
        return Program(())
    names = [argument.name for argument in schema.arguments]
    like = names.index(rule.argument) if isinstance(rule, Like) else -1
    shape = Lowering(schema, Source(str(rule.shape))).lower(rule.shape, Kind.INTS)
    dtype = Lowering(schema, Source(str(rule.dtype))).lower(rule.dtype, Kind.DTYPE)
    return Program(tuple(map(int, (like, len(shape), *shape, *dtype))))


def evaluate_out(
    rules: Sequence[OutRule], schema: Schema, arguments: Mapping[str, object], dtype_name: Callable[[object], str] = str
) -> list[tuple[tuple[Any, ...], str]]:
    """Return the shape and dtype of every output; `dtype_name` names a framework dtype.

    Raises:
        RuleError: The kernel describes an output itself, or a rule fails for these arguments.
    """
    evaluator = SizeEvaluator(schema, arguments, dtype_name)
    if any(isinstance(rule, FromKernel) for rule in rules):
        raise RuleError(f"{schema.full_name} needs an out rule here: only its kernel knows its outputs")
    described = [rule for rule in rules if not isinstance(rule, FromKernel)]
    return [(evaluator.shape(rule.shape), evaluator.run(rule.dtype)) for rule in described]


def evaluate_size(
    expr: Expr, schema: Schema, arguments: Mapping[str, object], dtype_name: Callable[[object], str] = str
) -> Any:
    """Evaluate a rule that is a number, such as `flops`."""
    return SizeEvaluator(schema, arguments, dtype_name).run(expr)
