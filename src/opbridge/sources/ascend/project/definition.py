"""What a project's host library says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ElementType:
    """One of those that operators are defined for."""

    name: str
    """As ge::DataType has it, behind DT_."""
    code: int
    in_kernels: str
    in_frameworks: str
    in_arrays: tuple[str, ...]
    """As NumPy's array interface spells it; of bfloat16 it knows no more than the bits."""


ELEMENT_TYPES = (
    ElementType("FLOAT", 0, "float", "float32", ("f4",)),
    ElementType("FLOAT16", 1, "half", "float16", ("f2",)),
    ElementType("INT8", 2, "int8_t", "int8", ("i1",)),
    ElementType("INT32", 3, "int32_t", "int32", ("i4",)),
    ElementType("UINT8", 4, "uint8_t", "uint8", ("u1",)),
    ElementType("INT16", 6, "int16_t", "int16", ("i2",)),
    ElementType("UINT16", 7, "uint16_t", "uint16", ("u2",)),
    ElementType("UINT32", 8, "uint32_t", "uint32", ("u4",)),
    ElementType("INT64", 9, "int64_t", "int64", ("i8",)),
    ElementType("UINT64", 10, "uint64_t", "uint64", ("u8",)),
    ElementType("DOUBLE", 11, "double", "float64", ("f8",)),
    ElementType("BOOL", 12, "bool", "bool", ("b1",)),
    ElementType("BF16", 27, "bfloat16_t", "bfloat16", ("V2", "u2")),
)
BY_CODE = {one.code: one for one in ELEMENT_TYPES}

_OPTIONAL, _DYNAMIC = 1, 3


@dataclass(frozen=True)
class Parameter:
    """An input or output."""

    name: str
    types: tuple[ElementType, ...]
    """One for each combination that the operator is defined for."""
    is_optional: bool = False
    is_list: bool = False


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    """As schemas spell it."""
    default: str | None
    """None: it must be given."""


@dataclass(frozen=True)
class TilingStruct:
    name: str
    fields: tuple[tuple[str, str, int], ...]
    """Type, name, and length, which is 0 where it is no array."""

    def text(self) -> str:
        """The struct as a kernel is given it."""
        lines = (f"  {_plain(kind)} {name}{f'[{length}]' if length else ''};\n" for kind, name, length in self.fields)
        return f"struct {self.name} {{\n{''.join(lines)}}};\n"


@dataclass(frozen=True)
class Definition:
    """One operator."""

    type: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: tuple[Attribute, ...]
    chips: tuple[str, ...]
    tiling: str | None
    """The name of its struct."""

    @property
    def name(self) -> str:
        """Of its kernel and of the file with it: AddV2Custom is add_v2_custom."""
        parted = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", self.type)
        return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", parted).lower()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def in_place(self) -> tuple[Parameter, ...]:
        """Outputs that are an input's memory: such a project calls both alike."""
        names = {one.name for one in self.inputs}
        return tuple(one for one in self.outputs if one.name in names)

    @property
    def combinations(self) -> int:
        """Of element types."""
        return max((len(one.types) for one in self.parameters), default=0)

    def types_of(self, combination: int) -> tuple[tuple[Parameter, ElementType], ...]:
        return tuple((one, one.types[min(combination, len(one.types) - 1)]) for one in self.parameters if one.types)


def definitions(described: dict[str, Any]) -> tuple[Definition, ...]:
    structs = dict(reversed(described["tiling"]))
    return tuple(
        Definition(
            one["type"],
            _parameters(one["inputs"]),
            _parameters(one["outputs"]),
            tuple(
                Attribute(item["name"], item["type"], None if item["required"] else item["default"])
                for item in one["attributes"]
            ),
            tuple(one["chips"]),
            structs.get(one["type"]),
        )
        for one in described["operators"]
    )


def tiling_structs(described: dict[str, Any]) -> tuple[TilingStruct, ...]:
    """In the order in which each needs those before it; what several files include is there once."""
    found = {
        one["name"]: TilingStruct(one["name"], tuple((kind, name, length) for kind, name, length in one["fields"]))
        for one in described["structs"]
    }
    return tuple(found.values())


def _parameters(items: list[dict[str, Any]]) -> tuple[Parameter, ...]:
    types = {item["name"]: item["types"] for item in items}
    return tuple(
        Parameter(
            item["name"],
            tuple(BY_CODE[code] for code in item["types"] or types.get(item["follows"], ()) if code in BY_CODE),
            item["option"] == _OPTIONAL,
            item["option"] == _DYNAMIC,
        )
        for item in items
    )


def _plain(kind: str) -> str:
    return kind.replace("optiling::", "").strip()
