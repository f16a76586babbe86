"""`shard`: along which dimensions a call may be divided over devices, and what each device's outputs then are.

`b k, k n -> b n : sum k` divides along any name.  Along `b` and `n` each device makes its part of the output; along `k`
it makes a whole output, and the sum of them is the operator's.  A name that an output lacks and that no clause
reduces, and a name behind `whole`, is never divided: what is not said is never assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from opbridge.errors import CallError, RuleError, did_you_mean
from opbridge.rules.dimensions import ANONYMOUS, DOTS, Dimensions, Group, parse_dimensions
from opbridge.rules.kinds import Place
from opbridge.rules.parser import Source
from opbridge.schema import Schema

_PART = re.compile(r"\S+")

REDUCTIONS = ("sum", "max", "min")
WHOLE = "whole"
ELEMENTWISE = "elementwise"

Names = tuple[str | None, ...]
"""Of one tensor's dimensions; None where a dimension is never divided."""
Shape = tuple[int, ...]


class ShardingWarning(UserWarning):
    """An operator whose tensors are divided runs on whole ones, as nothing says how it could be divided."""


@dataclass(frozen=True)
class Clause:
    """What stands behind the pattern of some dimensions: how the parts of an output add up, or that there are none."""

    word: str
    names: Group

    def __str__(self) -> str:
        return " ".join((self.word, *self.names))


@dataclass(frozen=True)
class Sharding(Dimensions):
    clauses: tuple[Clause, ...] = ()

    @property
    def reductions(self) -> dict[str, str]:
        """How outputs that lack a name are put together from the parts of it."""
        return {name: clause.word for clause in self.clauses if clause.word != WHOLE for name in clause.names}

    @property
    def whole(self) -> frozenset[str]:
        """The names that are never divided, although every output has them."""
        return frozenset(name for clause in self.clauses if clause.word == WHOLE for name in clause.names)

    def led_by(self, leading: Collection[int]) -> Sharding:
        """The rule of a batch of calls, whose dimension is the first of these inputs and of every output."""
        if any(DOTS in group for group in (*self.inputs, *self.outputs)):
            return self
        inputs = tuple((DOTS, *group) if place in leading else group for place, group in enumerate(self.inputs))
        return Sharding(inputs, tuple((DOTS, *group) for group in self.outputs), self.clauses)

    def __str__(self) -> str:
        clauses = ", ".join(map(str, self.clauses))
        return f"{super().__str__()} : {clauses}" if clauses else super().__str__()


Shard = str | Sharding


def parse_shard(value: object, schema: Schema, place: Place) -> Shard:
    """`elementwise`, or a pattern and its clauses."""
    source = place.text(value, "b s h, h -> b s h")
    pattern, colon, rest = source.text.partition(":")
    # The words before the colon are all of the rule there is to a message about them.
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
                raise source.error(f"{schema.full_name}: '{name}' stands in two clauses", at)
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


def _check_writes(sharding: Sharding, schema: Schema, place: Place) -> None:
    """What is written to stays where it is, so that the output that it is has its dimensions."""
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
    """The number of its argument in the schema."""
    item: int | None
    """Its place in that, where it is a list."""
    shape: Shape


@dataclass(frozen=True)
class Layout:
    """A rule for the tensors of one call: every dimension by a name that says what is divided together."""

    inputs: tuple[Names, ...]
    outputs: tuple[Names, ...]
    """Of the new outputs; those that are arguments are among the inputs."""
    sizes: Mapping[str, int]
    reductions: Mapping[str, str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Along which a call may be divided."""
        return tuple(self.sizes)


def check_parts(
    operator: str,
    layout: Layout,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    outputs_for: Callable[[Sequence[Shape]], Sequence[Shape]],
) -> None:
    """For parts of its inputs, `out` has to give those parts of the outputs that `shard` says."""
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
                    hint=f"': {WHOLE} {base_name(name)}' behind the `shard` rule keeps it undivided",
                )


def _part(shape: Shape, names: Names, name: str, size: int) -> Shape:
    return tuple(size if own == name else whole for own, whole in zip(names, shape, strict=True))


def undivided(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout:
    """The layout of a call of which nothing is known."""
    return Layout(
        tuple((None,) * len(shape) for shape in inputs), tuple((None,) * len(shape) for shape in outputs), {}, {}
    )


def paired(operator: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout:
    """The layout of an elementwise call."""
    given = [_named(f"{operator}: input {place}", (DOTS,), shape) for place, shape in enumerate(inputs)]
    made = [_named(f"{operator}: output {place}", (DOTS,), shape) for place, shape in enumerate(outputs)]
    return _layout(given, made, (), {}, frozenset())


def lay_out(rule: Shard, schema: Schema, inputs: Sequence[Tensor], outputs: Sequence[Shape]) -> Layout:
    """`outputs` are the shapes of the new ones; a tensor that does not have the rule's dimensions is a CallError."""
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
    """A tensor and the names of its dimensions, `_` where one has none."""

    what: str
    names: tuple[str, ...]
    shape: Shape

    def divided(self, sizes: Mapping[str, int]) -> Names:
        """One of size 1 where others have more is the same for all of them."""
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
    """As the rule has it: a dimension that `...` stands for is named after it and its place from the last one."""
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
    """The size of every name; an input may have one of 1 where another has more."""
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
