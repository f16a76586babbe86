"""An operator of a project as all frameworks call it: its schema and the shapes of its outputs."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opbridge.base.errors import UnsupportedError
from opbridge.twins.ascend.projects.definition import Attribute, Definition, Parameter


@dataclass(frozen=True)
class Signature:
    """An operator and the rules of its outputs."""

    definition: Definition
    rules: Mapping[str, str]
    """The rules of the outputs that follow from the arguments, by name; callers provide memory for all others."""

    def __post_init__(self) -> None:
        for one in self.definition.parameters:
            if one.is_list:
                raise UnsupportedError(
                    f"{self.definition.type}: '{one.name}' is a list of tensors of any length, which opbridge's "
                    "operators of projects do not take yet"
                )

    @property
    def made(self) -> tuple[Parameter, ...]:
        """The outputs that a call returns as new tensors."""
        return tuple(one for one in self.definition.outputs if one.name in self.rules)

    @property
    def written(self) -> tuple[Parameter, ...]:
        """The outputs that the caller passes after the inputs."""
        given = self.made + self.definition.in_place
        return tuple(one for one in self.definition.outputs if one not in given)

    @property
    def tensors(self) -> Iterator[tuple[Parameter, str]]:
        """The tensors in the order of the schema, with the type that kernel.h uses for each."""
        in_place = {one.name for one in self.definition.in_place}
        for one in self.definition.inputs:
            role = "InOut<ob::any>" if one.name in in_place else "In<ob::any>"
            yield one, f"Optional<ob::{role}>" if one.is_optional else role
        yield from ((one, "InOut<ob::any>") for one in self.written)
        yield from ((one, "Out<ob::any>") for one in self.made)

    def schema(self) -> str:
        """Return the schema of the operator."""
        marks = iter("abcdefghijklmnopqrstuvwxyz")
        returned = []
        arguments = []
        in_place = {one.name for one in self.definition.in_place}
        for one in (*self.definition.inputs, *self.written):
            mark = f"({next(marks)}!)" if one in self.written or one.name in in_place else ""
            if mark:
                returned.append(f"Tensor{mark}")
            arguments.append(f"Tensor{mark}{'?' if one.is_optional else ''} {spelled(one.name)}")
        attributes = [_attribute(one) for one in self.definition.attributes]
        taken = ", ".join((*arguments, *(("*", *attributes) if attributes else ())))
        results = [*returned, *("Tensor" for _ in self.made)]
        returns = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.definition.name}({taken}) -> {returns}"


def spelled(name: str) -> str:
    """Return a name that Python accepts: `lambda` becomes `lambda_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _attribute(one: Attribute) -> str:
    if one.default is None:
        return f"{one.type} {spelled(one.name)}"
    value = one.default
    if one.type.endswith("[]"):
        value = f"[{value}]"
    elif one.type == "str":
        value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    elif one.type == "bool":
        value = value.capitalize()
    return f"{one.type} {spelled(one.name)}={value}"
