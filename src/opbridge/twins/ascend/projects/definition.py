"""The operators that the host library of a project defines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ElementType:
    """An element type that operators may be defined for."""

    name: str
    """The name in ge::DataType, without DT_."""
    code: int
    in_kernels: str
    in_frameworks: str
    in_arrays: tuple[str, ...]
    """The spellings in NumPy's array interface, which has only the bits of bfloat16."""


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
    """An input or output of an operator."""

    name: str
    types: tuple[ElementType, ...]
    """The element type in each combination that the operator is defined for."""
    is_optional: bool = False
    is_list: bool = False


@dataclass(frozen=True)
class Attribute:
    """An attribute of an operator."""

    name: str
    type: str
    """The type, as schemas spell it."""
    default: str | None
    """The default as text, or None if the attribute is required."""


@dataclass(frozen=True)
class TilingStruct:
    """A struct that a tiling function fills for the kernel."""

    name: str
    fields: tuple[tuple[str, str, int], ...]
    """The type, name and length of each field; the length is 0 unless it is an array."""

    def text(self) -> str:
        """Return the C++ definition of the struct for the kernel."""
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
    """The name of the tiling struct."""

    @property
    def name(self) -> str:
        """The name of the kernel and its file: AddV2Custom has add_v2_custom."""
        parted = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", self.type)
        return re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", parted).lower()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    @property
    def in_place(self) -> tuple[Parameter, ...]:
        """The outputs that are an input's memory: such a project gives both the same name."""
        names = {one.name for one in self.inputs}
        return tuple(one for one in self.outputs if one.name in names)

    @property
    def combinations(self) -> int:
        """The number of combinations of element types."""
        return max((len(one.types) for one in self.parameters), default=0)

    def types_of(self, combination: int) -> tuple[tuple[Parameter, ElementType], ...]:
        """Return the parameters with their element types in one combination."""
        return tuple((one, one.types[min(combination, len(one.types) - 1)]) for one in self.parameters if one.types)


def definitions(described: dict[str, Any]) -> tuple[Definition, ...]:
    """Return the operators in the description that the host library prints."""
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
    """Return the tiling structs, each after those it needs, and without duplicates from shared headers."""
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
