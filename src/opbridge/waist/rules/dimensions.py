"""The patterns of `batch` and `shard`: the named dimensions of every tensor, as in `b s h, h -> b s h`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from opbridge.base.errors import did_you_mean
from opbridge.waist.rules.parser import Source
from opbridge.waist.rules.value_kinds import ManifestPlace
from opbridge.waist.schema import Schema

Group = tuple[str, ...]

DOTS = "..."
ANONYMOUS = "_"
"""The name of a dimension that no other tensor shares and that is never divided."""

_WORD = re.compile(r"\.\.\.|[A-Za-z_][A-Za-z_0-9]*", re.ASCII)


@dataclass(frozen=True)
class Dimensions:
    """A group of names for each tensor argument and each output, in order; a list's tensors share one group."""

    inputs: tuple[Group, ...]
    outputs: tuple[Group, ...]

    def __str__(self) -> str:
        return f"{_printed(self.inputs)} -> {_printed(self.outputs)}".strip()


Batch = str | Dimensions


def parse_batch(value: object, schema: Schema, place: ManifestPlace) -> Batch:
    """Parse `elementwise`, `loop`, or a pattern whose `...` marks the tensors with the extra dimensions."""
    example = "... h, h -> ... h"
    parsed = parse_dimensions(place.text(value, example), schema, ("elementwise", "loop"), example)
    if isinstance(parsed, Dimensions) and (
        not any(DOTS in group for group in parsed.inputs) or not all(DOTS in group for group in parsed.outputs)
    ):
        raise place.error("expected '...' in one input or more and in every output", "such as ... h, h -> ... h")
    return parsed


def parse_dimensions(source: Source, schema: Schema, words: tuple[str, ...], example: str) -> str | Dimensions:
    """Parse one of `words` or a pattern; `example` appears in error messages."""
    text = source.text.strip()
    if text in words:
        return text
    sides = source.text.split("->")
    if len(sides) != 2:
        hint = did_you_mean(text, words) or f"for example: {example}"
        raise source.error(
            f"{schema.full_name}: expected {', '.join(words)} or one '->' between the dimensions, got '{text}'",
            hint=hint,
        )
    inputs = tuple(argument.name for argument in schema.tensor_arguments)
    outputs = tuple(
        output.name or f"output {index}" for index, output in enumerate(schema.returns) if output.type.is_tensor_like
    )
    left = _groups(sides[0], 0, inputs, source, schema)
    right = _groups(sides[1], len(sides[0]) + 2, outputs, source, schema)
    known = {name for group in left for name in group}
    for owner, name in ((owner, name) for owner, group in zip(outputs, right, strict=True) for name in group):
        if name not in known and name not in (ANONYMOUS, DOTS):
            hint = did_you_mean(name, known) or f"a dimension of the output alone is '{ANONYMOUS}'"
            message = f"{schema.full_name}: no input has the dimension '{name}' of '{owner}'"
            raise source.error(message, source.text.rindex(name), hint)
    return Dimensions(left, right)


def _groups(text: str, offset: int, owners: tuple[str, ...], source: Source, schema: Schema) -> tuple[Group, ...]:
    parts = text.split(",") if owners or text.strip() else []
    if len(parts) != len(owners):
        message = (
            f"{schema.full_name}: expected {len(owners)} groups of dimensions, for {', '.join(owners) or 'no tensor'}; "
            f"got {len(parts)}"
        )
        raise source.error(message, offset, "'()' is the group of a scalar")
    groups: list[Group] = []
    for owner, part in zip(owners, parts, strict=True):
        groups.append(_group(part, offset, source, f"{schema.full_name}: '{owner}'"))
        offset += len(part) + 1
    return tuple(groups)


def _group(text: str, offset: int, source: Source, owner: str) -> Group:
    if text.strip() == "()":
        return ()
    names = tuple(text.split())
    counts = Counter(names)
    for name in names:
        if not _WORD.fullmatch(name):
            raise source.error(f"{owner}: expected a dimension's name, got '{name}'", offset + text.index(name))
        if name != ANONYMOUS and counts[name] > 1:
            raise source.error(f"{owner}: '{name}' appears twice in its group", offset + text.rindex(name))
    if DOTS in names[1:]:
        raise source.error(f"{owner}: '...' comes first in a group, got '{' '.join(names)}'", offset)
    return names


def _printed(groups: tuple[Group, ...]) -> str:
    return ", ".join(" ".join(group) or "()" for group in groups)
