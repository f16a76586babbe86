"""The kinds of values in rules, and the places of rules in a manifest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from opbridge.base.errors import Location, RuleError
from opbridge.waist.rules.parser import Source
from opbridge.waist.schema import ListType, OptionalType, Type

Path = tuple[str | int, ...]
Locate = Callable[[Path], Location | None]


class Kind(Enum):
    """The kind of a value in a rule; the enum value is its name in messages."""

    INT = "an int"
    FLOAT = "a float"
    BOOL = "a bool"
    STR = "a string"
    DTYPE = "a dtype"
    INTS = "a shape or list of ints"
    FLOATS = "a list of floats"
    BOOLS = "a list of bools"
    TENSOR = "a tensor"
    TENSORS = "a list of tensors"
    NONE = "None"
    LIST = "a list that rules cannot look into"
    OTHER = "a value that rules cannot use"
    ANY = "a result of another operator"


_SINGLE = {
    "Tensor": Kind.TENSOR,
    "int": Kind.INT,
    "SymInt": Kind.INT,
    "float": Kind.FLOAT,
    "Scalar": Kind.FLOAT,
    "bool": Kind.BOOL,
    "SymBool": Kind.BOOL,
    "str": Kind.STR,
    "ScalarType": Kind.DTYPE,
}
_LISTS = {
    Kind.TENSOR: Kind.TENSORS,
    Kind.INT: Kind.INTS,
    Kind.FLOAT: Kind.FLOATS,
    Kind.BOOL: Kind.BOOLS,
}
ELEMENTS = {kind: single for single, kind in _LISTS.items()}


def kind_of(type_: Type) -> Kind:
    """Return the kind of a schema type; whether None is allowed is not part of it."""
    if isinstance(type_, OptionalType):
        return kind_of(type_.elem)
    if isinstance(type_, ListType):
        # Rules cannot rely on the elements of a list that may hold None.
        return Kind.LIST if type_.elem.is_optional else _LISTS.get(kind_of(type_.elem), Kind.LIST)
    return _SINGLE.get(str(type_), Kind.OTHER)


@dataclass(frozen=True)
class ManifestPlace:
    """The place of a value in a manifest, which is located only when an error needs it."""

    locate: Locate
    path: Path = ()

    def child(self, key: str | int) -> ManifestPlace:
        """Return the place of an item below this one."""
        return ManifestPlace(self.locate, (*self.path, key))

    def error(self, message: str, hint: str = "") -> RuleError:
        """Return an error at this place."""
        return RuleError(message, self.locate(self.path), hint)

    def text(self, value: object, example: str) -> Source:
        """Return the text of a rule; YAML loaders turn a bare `0` or `1.5` into a number.

        Raises:
            RuleError: The value is neither text nor a number.
        """
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.error(f"expected a rule as text, got {type(value).__name__}", f"for example: {example}")
        return Source(str(value), self.locate(self.path))


def no_location(_: Path) -> None:
    """Return None, as the `locate` function of rules that are in no file."""


NOWHERE = ManifestPlace(no_location)
"""The place of rules that are in no file."""
