"""Read dimensions by name, as users write them: `rows columns, columns -> rows columns`.

A number is a size; `2*rows` and `rows+columns` are computed from the named dimensions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from opbridge.base.errors import InputError
from opbridge.verify.check.inputs import Form, letters_of
from opbridge.waist.schema import Schema

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"(?:\d+|[A-Za-z_]\w*)(?:[*+](?:\d+|[A-Za-z_]\w*))*")
_MULTIPLE = re.compile(r"(\d+)\*([A-Za-z_]\w*)")
_HINT = "a group of names or sizes for each tensor: --shapes 'm k, k n -> m n'; -> '' for a result without dimensions"


def input_form(text: str, schema: Schema) -> Form:
    """Return the dimensions of each tensor argument, from the text before `->`.

    Raises:
        InputError: The text cannot be read, or has another number of inputs than the schema.
    """
    names = [argument.name for argument in schema.tensor_arguments]
    groups = _groups(text, 0)
    if len(groups) != len(names):
        raise InputError(f"'{text}' is for {len(groups)} inputs, and {schema.name} takes {len(names)}", hint=_HINT)
    return dict(zip(names, groups, strict=True))


def output_shapes(text: str, schema: Schema) -> tuple[str, ...]:
    """Return the shape of each output as a formula over the inputs.

    Raises:
        InputError: The text cannot be read, or has another number of outputs than the schema.
    """
    form = input_form(text, schema)
    groups = _groups(text, 1)
    if groups == [()] and not schema.new_outputs:
        return ()  # the operator writes to tensors among the inputs
    if len(groups) != len(schema.new_outputs):
        message = f"'{text}' is for {len(groups)} outputs, and {schema.name} has {len(schema.new_outputs)}"
        raise InputError(message, hint=_HINT)
    return tuple(f"[{', '.join(_size(name, form, text) for name in group)}]" for group in groups)


def sizes(form: Form, wanted: Iterable[int]) -> list[int]:
    """Return a size for each dimension of the form that does not follow from another.

    Names get one of `wanted` each, in the order of their first appearance; sums and products follow from their names.
    """
    words = letters_of(form)
    values = dict(zip(dict.fromkeys(name for word in words for name in _names(word)), wanted, strict=False))
    return [values[word] if word in values else _value(word, values) for word in words]


def _names(word: str) -> list[str]:
    """Return the names in a word of --shapes; any other word, as in forms that are tried, is a name itself."""
    return _NAME.findall(word) if _WORD.fullmatch(word) else [word]


def _value(word: str, values: Mapping[str, int]) -> int:
    """Evaluate a sum of products, such as m+2*n."""
    return sum(
        math.prod(int(one) if one.isdigit() else values[one] for one in term.split("*")) for term in word.split("+")
    )


def _groups(text: str, side: int) -> list[tuple[str, ...]]:
    halves = text.split("->")
    if len(halves) != 2:
        raise InputError(f"'{text}' does not say inputs -> outputs", hint=_HINT)
    groups = [tuple(group.split()) for group in halves[side].split(",")]
    for word in (word for group in groups for word in group):
        if _WORD.fullmatch(word) is None:
            raise InputError(f"'{word}' in '{text}' is not a dimension", hint=_HINT)
    return groups


def _size(word: str, form: Form, text: str) -> str:
    """Return a dimension of an output as a formula over the inputs."""
    return _NAME.sub(lambda found: _found(found[0], form, text), word)


def _found(name: str, form: Form, text: str) -> str:
    places = [(word, f"{argument}.shape[{i}]") for argument, group in form.items() for i, word in enumerate(group)]
    for word, place in places:
        if word == name:
            return place
    for word, place in places:
        if (times := _MULTIPLE.fullmatch(word)) and times[2] == name:
            return f"ceil_div({place}, {times[1]})"
    raise InputError(f"'{name}' in '{text}' is a dimension of no input", hint=_HINT)
