"""The `shard` rule: the dimensions along which a call may be divided over devices, and the outputs of each device.

`b k, k n -> b n : sum k` divides along any name. Along `b` and `n` each device computes its part of the output. Along
`k` it computes a whole output, and the sum of these is the result. Two kinds of names are never divided: one that an
output lacks and no clause reduces, and one after `whole`. Nothing is assumed that the rule does not state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from opbridge.base.errors import CallError, RuleError, did_you_mean
from opbridge.waist.rules.dimensions import ANONYMOUS, DOTS, Dimensions, Group, parse_dimensions
from opbridge.waist.rules.parser import Source
from opbridge.waist.rules.value_kinds import ManifestPlace
from opbridge.waist.schema import Schema

_PART = re.compile(r"\S+")

REDUCTIONS = ("sum", "max", "min")
WHOLE = "whole"
ELEMENTWISE = "elementwise"

Names = tuple[str | None, ...]
"""The names of one tensor's dimensions; None if a dimension is never divided."""
Shape = tuple[int, ...]


class ShardingWarning(UserWarning):
    """A warning that an operator runs on whole tensors, because no rule says how to divide it."""


@dataclass(frozen=True)
class Clause:
    """A clause after the pattern: how to combine the parts along some dimensions, or that these are never divided."""

    word: str
    names: Group

    def __str__(self) -> str:
        return " ".join((self.word, *self.names))


@dataclass(frozen=True)
class Sharding(Dimensions):
    """A pattern of dimensions with its clauses."""

    clauses: tuple[Clause, ...] = ()

    @property
    def reductions(self) -> dict[str, str]:
        """The reduction that combines the parts of an output, by the name that the output lacks."""
        return {name: clause.word for clause in self.clauses if clause.word != WHOLE for name in clause.names}

    @property
    def whole(self) -> frozenset[str]:
        """The names that are never divided, although every output has them."""
        return frozenset(name for clause in self.clauses if clause.word == WHOLE for name in clause.names)

    def led_by(self, leading: Collection[int]) -> Sharding:
        """Return the rule for a batch of calls.

        The batch dimension is the first of the `leading` inputs and of every output.
        """
        if any(DOTS in group for group in (*self.inputs, *self.outputs)):
            return self
        inputs = tuple((DOTS, *group) if place in leading else group for place, group in enumerate(self.inputs))
        return Sharding(inputs, tuple((DOTS, *group) for group in self.outputs), self.clauses)

    def __str__(self) -> str:
        clauses = ", ".join(map(str, self.clauses))
        return f"{super().__str__()} : {clauses}" if clauses else super().__str__()


Shard = str | Sharding


def parse_shard(value: object, schema: Schema, place: ManifestPlace) -> Shard:
    """Parse `elementwise`, or a pattern and its clauses.

    Raises:
        RuleError: The rule is invalid or does not fit the schema.
    """
    source = place.text(value, "b s h, h -> b s h")
    pattern, colon, rest = source.text.partition(":")
    # Messages about the pattern quote only the text before the colon.
    dimensions = parse_dimensions(Source(pattern, source.where), schema, (ELEMENTWISE,), "b s h, h -> b s h")
    if not isinstance(dimensions, Dimensions):
        if colon:
            raise source.error(f"{schema.full_name}: '{dimensions}' takes no clauses, got ':{rest}'", len(pattern))
        return dimensions
    clauses = _clauses(rest, len(pattern) + 1, source, schema, dimensions) if colon else ()
    sharding = Sharding(dimensions.inputs, dimensions.outputs, clauses)
    _check_writes(sharding, schema, place)
    return sharding


def _clauses(text: str, offset: int, source: Source, schema: Schema, dimensions: Dimensions) -> tuple[Clause, ...]:
    known = {name for group in dimensions.inputs for name in group if name != ANONYMOUS}
    said: set[str] = set()
    clauses = []
    for part in text.split(","):
        word, *names = part.split() or [""]
        places = [found.start() for found in _PART.finditer(part)]
        words = (*REDUCTIONS, WHOLE)
        if word not in words or not names:
            hint = did_you_mean(word, words) or "such as ': sum k' or ': whole h'"
            message = f"{schema.full_name}: expected {', '.join(words)} and names, got '{part.strip()}'"
            raise source.error(message, offset + len(part) - len(part.lstrip()), hint)
        for name, place in zip(names, places[1:], strict=True):
            at = offset + place
            if name not in known:
                hint = did_you_mean(name, known) or f"they are: {' '.join(sorted(known))}"
                raise source.error(f"{schema.full_name}: no input has the dimension '{name}'", at, hint)
            if name in said:
                raise source.error(f"{schema.full_name}: '{name}' appears in two clauses", at)
            if word != WHOLE and all(name in group for group in dimensions.outputs):
                raise source.error(
                    f"{schema.full_name}: every output has the dimension '{name}', there is nothing to {word}",
                    at,
                    f"': {WHOLE} {name}' keeps it undivided",
                )
            said.add(name)
        clauses.append(Clause(word, tuple(names)))
        offset += len(part) + 1
    return tuple(clauses)


def _check_writes(sharding: Sharding, schema: Schema, place: ManifestPlace) -> None:
    """Check that an output that is an argument has the dimensions of that argument."""
    groups = {item.name: group for item, group in zip(schema.tensor_arguments, sharding.inputs, strict=True)}
    outputs = (output for output in schema.returns if output.type.is_tensor_like)
    for output, group in zip(outputs, sharding.outputs, strict=True):
        argument = schema.aliased_argument(output)
        if argument is not None and groups[argument.name] != group:
            written = " ".join(groups[argument.name]) or "()"
            raise place.error(
                f"{schema.full_name}: an output is the argument '{argument.name}' itself, whose dimensions are "
                f"'{written}'; got '{' '.join(group) or '()'}' for it"
            )


@dataclass(frozen=True)
class Tensor:
    """One tensor of a call."""

    argument: int
    """The index of its argument in the schema."""
    item: int | None
    """Its index in that argument, if the argument is a list."""
    shape: Shape


@dataclass(frozen=True)
class Layout:
    """A rule applied to one call: named dimensions, where equal names are divided together."""

    inputs: tuple[Names, ...]
    outputs: tuple[Names, ...]
    """The names of the new outputs; outputs that are arguments are among the inputs."""
    sizes: Mapping[str, int]
    reductions: Mapping[str, str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names along which the call may be divided."""
        return tuple(self.sizes)


def check_parts(
    operator: str,
    layout: Layout,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    outputs_for: Callable[[Sequence[Shape]], Sequence[Shape]],
) -> None:
    """Check that `out`, given parts of the inputs, returns the output parts that `shard` predicts.

    Raises:
        RuleError: The two rules disagree.
    """
    for name, size in layout.sizes.items():
        part = max(size // 2, 1)
        parts = [_part(shape, names, name, part) for shape, names in zip(inputs, layout.inputs, strict=True)]
        wholes = zip(outputs, layout.outputs, strict=True)
        for place, (got, (shape, names)) in enumerate(zip(outputs_for(parts), wholes, strict=True)):
            expected = _part(shape, names, name, part)
            if got != expected:
                raise RuleError(
                    f"{operator}: its `shard` rule divides output {place} along '{base_name(name)}', so that of a part "
                    f"of size {part} it has shape {list(expected)}; its `out` rule gives {list(got)}",
                    hint=f"': {WHOLE} {base_name(name)}' after the `shard` rule keeps it undivided",
                )


def _part(shape: Shape, names: Names, name: str, size: int) -> Shape:
    return tuple(size if own == name else whole for own, whole in zip(names, shape, strict=True))


def undivided(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout:
    """Return the layout of a call that cannot be divided."""
    return Layout(
        tuple((None,) * len(shape) for shape in inputs), tuple((None,) * len(shape) for shape in outputs), {}, {}
    )


def paired(operator: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout:
    """Return the layout of an elementwise call."""
    given = [_named(f"{operator}: input {place}", (DOTS,), shape) for place, shape in enumerate(inputs)]
    made = [_named(f"{operator}: output {place}", (DOTS,), shape) for place, shape in enumerate(outputs)]
    return _layout(given, made, (), {}, frozenset())


def lay_out(rule: Shard, schema: Schema, inputs: Sequence[Tensor], outputs: Sequence[Shape]) -> Layout:
    """Return the layout of a call; `outputs` are the shapes of its new outputs.

    Raises:
        CallError: A tensor does not have the dimensions of the rule.
    """
    places = [place for place, argument in enumerate(schema.arguments) if argument.is_tensor]
    returns = [output for output in schema.returns if output.type.is_tensor_like]
    if not isinstance(rule, Sharding):
        rule = Sharding(((DOTS,),) * len(places), ((DOTS,),) * len(returns))
    groups = dict(zip(places, rule.inputs, strict=True))
    new = [group for group, output in zip(rule.outputs, returns, strict=True) if output.alias is None]
    given = [_named(_label(schema, tensor), groups[tensor.argument], tensor.shape) for tensor in inputs]
    made = [
        _named(f"{schema.full_name}: output {place}", group, shape)
        for place, (group, shape) in enumerate(zip(new, outputs, strict=True))
    ]
    written = [place for place, tensor in enumerate(inputs) if schema.arguments[tensor.argument].mutable]
    return _layout(given, made, written, rule.reductions, rule.whole)


@dataclass(frozen=True)
class _Named:
    """A tensor and the names of its dimensions, with `_` for unnamed ones."""

    what: str
    names: tuple[str, ...]
    shape: Shape

    def divided(self, sizes: Mapping[str, int]) -> Names:
        """Return the names along which the tensor is divided; a size of 1 is broadcast, not divided."""
        return tuple(
            name if sizes.get(name) == size else None for name, size in zip(self.names, self.shape, strict=True)
        )


def _named(what: str, group: Group, shape: Shape) -> _Named:
    last = tuple(name for name in group if name != DOTS)
    leading = len(shape) - len(last)
    if leading < 0 or (leading and DOTS not in group):
        raise CallError(
            f"{what} has {len(shape)} dimensions, {list(shape)}, where its shard rule names "
            f"'{' '.join(group) or '()'}'; '...' in front stands for any number of leading ones"
        )
    return _Named(what, (*(f"{DOTS}{place}" for place in range(leading, 0, -1)), *last), shape)


def base_name(name: str) -> str:
    """Return a name as the rule writes it; dimensions that `...` covers are named `...1`, `...2` from the last."""
    return DOTS if name.startswith(DOTS) else name


def _label(schema: Schema, tensor: Tensor) -> str:
    item = "" if tensor.item is None else f"[{tensor.item}]"
    return f"{schema.full_name}: argument '{schema.arguments[tensor.argument].name}{item}'"


def _layout(
    given: Sequence[_Named],
    made: Sequence[_Named],
    written: Sequence[int],
    reductions: Mapping[str, str],
    whole: Collection[str],
) -> Layout:
    sizes = _sizes(given, made)
    kept = [given[place].divided(sizes) for place in written]
    outputs = [output.divided(sizes) for output in made]
    divided = {
        name: size
        for name, size in sizes.items()
        if base_name(name) not in whole
        and all(name in names for names in kept)
        and (base_name(name) in reductions or all(name in names for names in outputs))
    }
    return Layout(
        tuple(tensor.divided(divided) for tensor in given),
        tuple(tensor.divided(divided) for tensor in made),
        divided,
        {name: reductions[base_name(name)] for name in divided if base_name(name) in reductions},
    )


def _sizes(given: Sequence[_Named], made: Sequence[_Named]) -> dict[str, int]:
    """Return the size of every name; an input of size 1 broadcasts to a larger one."""
    sizes: dict[str, int] = {}
    owners: dict[str, str] = {}
    for place, tensor in enumerate((*given, *made)):
        for name, size in zip(tensor.names, tensor.shape, strict=True):
            if name == ANONYMOUS:
                continue
            known = sizes.setdefault(name, size)
            owner = owners.setdefault(name, tensor.what.partition(": ")[2])
            if size != known and (place >= len(given) or 1 not in (size, known)):
                raise CallError(
                    f"{tensor.what} has size {size} where {owner} has {known} for the dimension '{base_name(name)}' of "
                    "its shard rule"
                )
            if known == 1 and size != 1:
                sizes[name], owners[name] = size, tensor.what.partition(": ")[2]
    return sizes
