"""The `derivatives` and `backward` rules: two ways to write gradients, with one form for every framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opbridge.base.errors import RuleError, did_you_mean
from opbridge.waist.rules.formulas import Formula, FormulaChecker, Meaning, accepts_kind, meanings, parse_formula
from opbridge.waist.rules.parser import Source
from opbridge.waist.rules.syntax import Call, Expr, Name
from opbridge.waist.rules.value_kinds import Kind, ManifestPlace, kind_of
from opbridge.waist.schema import Argument, Schema

_EXAMPLE = "derivatives: {x: grad * y, y: grad * x}"


@dataclass(frozen=True)
class Derivative:
    """A formula with the gradient of one argument, or with those of several in order."""

    arguments: tuple[str, ...]
    formula: Formula


@dataclass(frozen=True)
class Backward:
    """An operator that computes the gradients; its call is a formula like any other."""

    operator: str
    derivative: Derivative

    def field(self) -> object:
        """Return the rule as `parse_backward` reads it."""
        return {", ".join(self.derivative.arguments): self.operator}


def parse_derivatives(
    value: object, schema: Schema, operators: Mapping[str, Schema], place: ManifestPlace
) -> tuple[Derivative, ...]:
    """Parse formulas by argument names, each for one argument or several.

    Raises:
        RuleError: A formula does not fit the schema, or an argument has two.
    """
    if not isinstance(value, Mapping):
        raise place.error("expected formulas by argument", f"for example: {_EXAMPLE}")
    _refuse_no_outputs(schema, place)
    found: list[Derivative] = []
    seen: set[str] = set()
    known = meanings(schema)
    arguments = {argument.name: argument for argument in schema.arguments}
    for key, text in value.items():
        below = place.child(key)
        targets = _targets(str(key), arguments, schema, below)
        for target in targets:
            if target in seen:
                raise below.error(f"the derivative of '{target}' is given twice")
            seen.add(target)
        formula = parse_formula(below.text(text, _EXAMPLE), schema, operators, targets, known)
        found.append(Derivative(targets, formula))
    return tuple(found)


def parse_backward(value: object, schema: Schema, operators: Mapping[str, Schema], place: ManifestPlace) -> Backward:
    """Parse a backward operator, with or without the arguments that its outputs are the gradients of.

    Raises:
        RuleError: The operator is unknown, or its signature does not fit the schema.
    """
    _refuse_no_outputs(schema, place)
    targets: tuple[str, ...] | None = None
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise place.error("expected one operator", 'for example: backward: {"x, y": mylib::f_backward}')
        ((key, value),) = value.items()
        place = place.child(key)
        targets = _targets(str(key), {argument.name: argument for argument in schema.arguments}, schema, place)
    source = place.text(value, "backward: mylib::f_backward")
    name = source.text.strip()
    operator = operators.get(name) or operators.get(f"{schema.namespace}::{name}")
    if operator is None:
        hint = did_you_mean(name, operators) or "declare it in the same library; derivatives can call aten::name"
        raise source.error(f"unknown backward operator '{name}'", hint=hint)
    targets = targets or _default_targets(schema, operator)
    if len(operator.returns) != len(targets):
        message = f"{operator.full_name} returns {len(operator.returns)} values for the gradients of "
        hint = f'name its outputs\' arguments: backward: {{"{targets[0] if targets else "x"}": {name}}}'
        raise source.error(message + (", ".join(targets) or "no tensor"), hint=hint)
    for target, output in zip(targets, operator.returns, strict=True):
        if kind_of(output.type) is not kind_of(schema.argument(target).type):
            raise source.error(f"{operator.full_name} returns {output.type} for the gradient of {target}")
    call = _lowered(schema, operator, source)
    checker = FormulaChecker(schema, {operator.full_name: operator}, source, meanings(schema))
    checker.kind(call)
    return Backward(operator.full_name, Derivative(targets, checker.formula(call)))


def _lowered(schema: Schema, operator: Schema, source: Source) -> Call:
    """Build the call of the backward operator, which receives its arguments by their names."""
    known = meanings(schema)
    args: list[Expr] = []
    kwargs: list[tuple[str, Expr]] = []
    for parameter in operator.arguments:
        found = known.get(parameter.name)
        if found is None and parameter.default is not None:
            continue
        if found is None:
            hint = did_you_mean(parameter.name, known) or f"there are {', '.join(known)}"
            raise source.error(
                f"{operator.full_name} asks for '{parameter.name}', which {schema.full_name} has not", hint=hint
            )
        _check_fits(parameter, found, schema, operator, source)
        if parameter.kwarg_only or len(args) < operator.positional.index(parameter):
            kwargs.append((parameter.name, Name(parameter.name)))
        else:
            args.append(Name(parameter.name))
    return Call(operator.full_name, tuple(args), tuple(kwargs))


def _check_fits(parameter: Argument, found: set[Meaning], schema: Schema, operator: Schema, source: Source) -> None:
    if len(found) > 1:
        raise _ambiguous(parameter, schema, operator, source)
    (meaning,) = found
    given = schema.argument(meaning.argument) if meaning.argument else None
    optional = given is not None and given.type.is_optional and not parameter.type.is_optional
    if optional or not accepts_kind(parameter, meaning.kind):
        got = str(given.type) if given else meaning.kind.value
        message = (
            f"{operator.full_name} takes {parameter.type} {parameter.name}, {schema.full_name} has {got} of that name"
        )
        raise source.error(message, hint="it must accept None: make it optional" if optional else "")


def _ambiguous(parameter: Argument, schema: Schema, operator: Schema, source: Source) -> RuleError:
    meant = f"which is both an argument and an output's gradient or value in {schema.full_name}"
    message = f"{operator.full_name} asks for '{parameter.name}', {meant}"
    return source.error(message, hint="name the output and ask for grad_<output>, or rename the argument")


def _refuse_no_outputs(schema: Schema, place: ManifestPlace) -> None:
    if not schema.returns:
        raise place.error(f"{schema.full_name} returns nothing, so it has no derivatives")


def _targets(key: str, names: Mapping[str, Argument], schema: Schema, place: ManifestPlace) -> tuple[str, ...]:
    targets = tuple(name.strip() for name in key.split(","))
    for target in targets:
        if target not in names:
            hint = did_you_mean(target, names) or f"the arguments are {', '.join(names) or 'none'}"
            raise place.error(f"'{target}' is not an argument of {schema.full_name}", hint)
        if kind_of(names[target].type) not in (Kind.TENSOR, Kind.TENSORS):
            raise place.error(f"only a tensor has a derivative; '{target}' is {names[target].type}")
    return targets


def _default_targets(schema: Schema, operator: Schema) -> tuple[str, ...]:
    """Return the arguments that the outputs of the backward are named after, or every tensor."""
    tensors = [item.name for item in schema.arguments if kind_of(item.type) in (Kind.TENSOR, Kind.TENSORS)]
    named = tuple((output.name or "").removeprefix("grad_") for output in operator.returns)
    return named if set(named) <= set(tensors) and len(set(named)) == len(named) else tuple(tensors)
