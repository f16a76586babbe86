"""Dimensions by name, as a user says them: `rows columns, columns -> rows columns`; a number is a size."""

from __future__ import annotations

from collections.abc import Iterable

from opbridge.check.inputs import Form
from opbridge.errors import InputError
from opbridge.schema import Schema

_HINT = "a group of names or sizes for each tensor: --shapes 'm k, k n -> m n'; -> '' for a result without dimensions"


def input_form(text: str, schema: Schema) -> Form:
    names = [argument.name for argument in schema.tensor_arguments]
    groups = _groups(text, 0)
    if len(groups) != len(names):
        raise InputError(f"'{text}' is for {len(groups)} inputs, and {schema.name} takes {len(names)}", hint=_HINT)
    return dict(zip(names, groups, strict=True))


def output_shapes(text: str, schema: Schema) -> tuple[str, ...]:
    """A formula for each output."""
    form = input_form(text, schema)
    groups = _groups(text, 1)
    if len(groups) != len(schema.new_outputs):
        message = f"'{text}' is for {len(groups)} outputs, and {schema.name} has {len(schema.new_outputs)}"
        raise InputError(message, hint=_HINT)
    return tuple(f"[{', '.join(_size(name, form, text) for name in group)}]" for group in groups)


def sizes(form: Form, wanted: Iterable[int]) -> list[int]:
    """One for each name, in the order of their first appearance: a number's own, and of `wanted` for others."""
    left = iter(wanted)
    letters = dict.fromkeys(letter for group in form.values() for letter in group)
    return [int(letter) if letter.isdigit() else next(left) for letter in letters]


def _groups(text: str, side: int) -> list[tuple[str, ...]]:
    halves = text.split("->")
    if len(halves) != 2:
        raise InputError(f"'{text}' does not say inputs -> outputs", hint=_HINT)
    return [tuple(group.split()) for group in halves[side].split(",")]


def _size(name: str, form: Form, text: str) -> str:
    if name.isdigit():
        return name
    for argument, group in form.items():
        if name in group:
            return f"{argument}.shape[{group.index(name)}]"
    raise InputError(f"'{name}' in '{text}' is a dimension of no input", hint=_HINT)
