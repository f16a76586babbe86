"""All rules of one operator: the fields of `ops.yaml` besides its schema and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from opbridge.base.errors import CallError, Location, ManifestError, did_you_mean
from opbridge.waist.rules.derivatives import Backward, Derivative, parse_backward, parse_derivatives
from opbridge.waist.rules.dimensions import Batch, parse_batch
from opbridge.waist.rules.launch import Launch, parse_launch
from opbridge.waist.rules.lowering import Lowering
from opbridge.waist.rules.outputs import FromKernel, OutRule, parse_out
from opbridge.waist.rules.parser import parse_expression
from opbridge.waist.rules.sharding import Shard, parse_shard
from opbridge.waist.rules.syntax import Expr
from opbridge.waist.rules.value_kinds import Kind, Locate, ManifestPlace, no_location
from opbridge.waist.schema import Schema


@dataclass(frozen=True)
class Declaration:
    """The parts of a declaration that the parsing of a rule needs."""

    schema: Schema
    operators: Mapping[str, Schema]
    """The operators that a formula may call, by full name."""
    kernel_may_say: bool
    """Whether the kernel itself may describe its outputs."""
    brings_rules: bool
    """Whether the kernel is an operator of a framework, which has its own rules."""


@dataclass(frozen=True)
class Rule:
    """One field of `ops.yaml`: its parser, its printer, and the checks that verify it."""

    name: str
    parse: Callable[[Any, Declaration, ManifestPlace], Any]
    """Parses the field; raises RuleError, with its place, if it does not fit the schema."""
    field: Callable[[Any], object]
    """Returns the field that `parse` turns into an equal rule, or None if there is no rule."""
    checks: tuple[str, ...] = ()
    """The rows of `opbridge check` that verify the rule."""
    is_brought: bool = True
    """Whether an operator of a framework has this rule already, so that a declaration must not repeat it."""
    is_read_always: bool = False
    """Whether the parser must also see that the field is absent."""


def _parse_out(value: object, beside: Declaration, place: ManifestPlace) -> tuple[OutRule, ...]:
    if value is None and beside.brings_rules:
        return ()
    return parse_out(value, beside.schema, place, kernel_may_say=beside.kernel_may_say)


def _out_field(rules: tuple[OutRule, ...]) -> object:
    fields = [rule.field() for rule in rules if not isinstance(rule, FromKernel)]
    return fields[0] if len(fields) == 1 else fields or None


def _derivatives_field(derivatives: tuple[Derivative, ...]) -> object:
    return {", ".join(item.arguments): str(item.formula) for item in derivatives} or None


def _parse_flops(value: object, beside: Declaration, place: ManifestPlace) -> Expr:
    source = place.text(value, "flops: 2 * x.numel")
    expr = parse_expression(source.text, source.where)
    Lowering(beside.schema, source).lower(expr, Kind.INT)
    return expr


def _text(rule: object) -> str | None:
    return None if rule is None else str(rule)


def _own_field(rule: Backward | Launch | None) -> object:
    return rule and rule.field()


RULES = {
    rule.name: rule
    for rule in (
        Rule("out", _parse_out, _out_field, ("shapes", "dtypes", "bounds"), is_read_always=True),
        Rule(
            "derivatives",
            lambda value, beside, place: parse_derivatives(value, beside.schema, beside.operators, place),
            _derivatives_field,
            ("gradients",),
        ),
        Rule(
            "backward",
            lambda value, beside, place: parse_backward(value, beside.schema, beside.operators, place),
            _own_field,
            ("gradients",),
        ),
        Rule("batch", lambda value, beside, place: parse_batch(value, beside.schema, place), _text, ("vmap",)),
        Rule("shard", lambda value, beside, place: parse_shard(value, beside.schema, place), _text, ("shard",)),
        Rule("flops", _parse_flops, _text, is_brought=False),
        Rule(
            "launch",
            lambda value, beside, place: parse_launch(value, beside.schema, place),
            _own_field,
            is_brought=False,
        ),
    )
}


class RuleFields(TypedDict, total=False):
    """The keywords of `load`, `inline` and `OpSpec.create`: the rules, and sample inputs."""

    out: object
    derivatives: Mapping[str, str] | None
    backward: object
    batch: str | None
    shard: str | None
    flops: str | None
    launch: Mapping[str, object] | None
    samples: Iterable[Mapping[str, object]]


def brought(operator: str, by: str, rule: str, where: Location | None = None) -> ManifestError:
    """Return the error about a rule that a framework operator already has."""
    return ManifestError(f"{operator}: {by} has its own '{rule}'", where, "leave it out")


def check_keywords(given: Iterable[str]) -> None:
    """Check rule keywords, as Python checks the keywords of a function.

    Raises:
        CallError: A keyword is unknown.
    """
    known = RuleFields.__annotations__
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"the rules are {', '.join(RULES)}"
            raise CallError(f"unexpected keyword '{name}'\n  {hint}")


@dataclass(frozen=True)
class Rules:
    """The parsed rules of one operator."""

    out: tuple[OutRule, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    backward: Backward | None = None
    batch: Batch | None = None
    shard: Shard | None = None
    flops: Expr | None = None
    launch: Launch | None = None

    @classmethod
    def parse(
        cls,
        fields: Mapping[str, object],
        schema: Schema,
        *,
        operators: Mapping[str, Schema] | None = None,
        locate: Locate = no_location,
        kernel_may_say: bool = False,
        framework_says: bool = False,
    ) -> Rules:
        """Parse and check every rule against the schema.

        `operators` are those that a formula may call, by full name. `locate` returns the place of a value by its path,
        such as `("out", "shape")`. `out` is optional if the kernel may describe its outputs, and is not read if the
        kernel is an operator of a framework.

        Raises:
            RuleError: A rule is unknown, invalid, or contradicts another one.
        """
        place = ManifestPlace(locate)
        for key in fields:
            if key not in RULES:
                raise place.child(key).error(f"unknown rule '{key}'", did_you_mean(key, RULES) or ", ".join(RULES))
        if fields.get("derivatives") is not None and fields.get("backward") is not None:
            raise place.child("backward").error("derivatives and backward say the same thing", "keep one of them")
        beside = Declaration(schema, operators or {}, kernel_may_say, framework_says)
        read = {name: value for name in RULES if (value := fields.get(name)) is not None or RULES[name].is_read_always}
        return cls(**{name: RULES[name].parse(value, beside, place.child(name)) for name, value in read.items()})

    @property
    def gradients(self) -> tuple[Derivative, ...]:
        """The derivatives, whichever way they were written."""
        return (self.backward.derivative,) if self.backward else self.derivatives

    @property
    def launch_texts(self) -> tuple[tuple[str, str], ...]:
        """The launch parameters and their expressions, as text."""
        return tuple(self.launch.field().items()) if self.launch else ()

    def fields(self) -> dict[str, object]:
        """Return the fields that `parse` turns into equal rules."""
        printed = {name: rule.field(getattr(self, name)) for name, rule in RULES.items()}
        return {name: value for name, value in printed.items() if value is not None}
