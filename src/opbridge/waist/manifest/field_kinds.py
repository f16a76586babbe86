"""The kinds of values in a manifest; each reads itself from a node and describes itself as JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar

from opbridge.base.errors import InputError, ManifestError, did_you_mean

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    from opbridge.waist.manifest.yaml_reader import Document

    Node = ScalarNode | SequenceNode | MappingNode

T = TypeVar("T")

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {"true": True, "True": True, "false": False, "False": False}
_NOTHING = ("", "~", "null", "Null", "NULL")


@dataclass
class Reader:
    """A reader of the nodes of one document, which collects all errors, so that one run shows them."""

    document: Document
    errors: list[InputError] = field(default_factory=list)

    def attempt(self, make: Callable[..., T], *arguments: object) -> T | None:
        """Return the result of `make`; None, and one more error of this document, if it fails."""
        try:
            return make(*arguments)
        except InputError as error:
            self.errors.append(error)
            return None

    def refuse(self, node: Node, message: str, hint: str = "") -> None:
        """Record an error at a node."""
        self.errors.append(ManifestError(message, self.document.location(node), hint))

    def unknown(self, key: Node, name: str, near: str, known: str) -> None:
        """Record an unknown key; `near` is a hint to a key that was probably meant."""
        self.refuse(key, f"unknown key '{name}'", near or known)

    def mapping(self, node: Node, what: str) -> dict[str, tuple[ScalarNode, Node]]:
        """Return the pairs of a mapping, recording duplicate keys, of which YAML would silently keep the last."""
        if node.id != "mapping":
            self.refuse(node, f"expected {what}, got {_described(node)}")
            return {}
        pairs: dict[str, tuple[ScalarNode, Node]] = {}
        for key, value in node.value:
            if key.id != "scalar":
                self.refuse(key, f"expected a name as key, got {_described(key)}")
            elif key.value in pairs:
                first = self.document.location(pairs[key.value][0])
                self.refuse(key, f"'{key.value}' is given twice", f"first at {first}")
            else:
                pairs[key.value] = (key, value)
        return pairs


class Kind(Protocol):
    """A kind of value at some place of the manifest."""

    def read(self, node: Node, reader: Reader) -> object:
        """Return the value of a node, or None after recording an error."""

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the kind."""


@dataclass(frozen=True)
class Text:
    """A name, a formula or another single value, as the text that was written."""

    what: str
    json_types: tuple[str, ...] = ("string",)

    def read(self, node: Node, reader: Reader) -> str | None:
        """Return the text, or None if the node is not a scalar or is empty."""
        if node.id != "scalar":
            reader.refuse(node, f"expected {self.what}, got {_described(node)}")
        elif _is_nothing(node):
            reader.refuse(node, f"expected {self.what}, got nothing")
        else:
            return str(node.value)
        return None

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the value."""
        return {"type": self.json_types[0] if len(self.json_types) == 1 else list(self.json_types)}


@dataclass(frozen=True)
class ListOf:
    """A list of items of one kind."""

    item: Kind
    what: str

    def read(self, node: Node, reader: Reader) -> list[object] | None:
        """Return the items, or None if the node is not a list."""
        if node.id != "sequence":
            reader.refuse(node, f"expected {self.what}, got {_described(node)}")
            return None
        return [self.item.read(item, reader) for item in node.value]

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the list."""
        return {"type": "array", "items": self.item.json_schema()}


@dataclass(frozen=True)
class Table:
    """A mapping whose keys the user chooses."""

    value: Kind
    what: str
    keys: tuple[str, ...] = ()

    def read(self, node: Node, reader: Reader) -> dict[str, object]:
        """Return the values by key."""
        pairs = reader.mapping(node, self.what)
        if node.id == "mapping" and not node.value:
            reader.refuse(node, f"expected {self.what}, got an empty one")
        return {name: self.value.read(value, reader) for name, (_, value) in pairs.items()}

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the mapping."""
        names: dict[str, object] = {"propertyNames": {"enum": list(self.keys)}} if self.keys else {}
        return {"type": "object", "minProperties": 1, **names, "additionalProperties": self.value.json_schema()}


@dataclass(frozen=True)
class Field:
    """A key of a record; `doc` is its description for editors."""

    name: str
    kind: Kind
    doc: str
    required: bool = False


@dataclass(frozen=True)
class Record:
    """A mapping with known keys."""

    what: str
    fields: tuple[Field, ...]
    one_of: tuple[str, ...] = ()
    """Fields of which at least one must be present."""

    def read(self, node: Node, reader: Reader) -> dict[str, object]:
        """Return the values by key, recording unknown and missing keys."""
        known = {field.name: field for field in self.fields}
        values: dict[str, object] = {}
        pairs = reader.mapping(node, self.what)
        misspelled = ""
        for name, (key, value) in pairs.items():
            if name in known:
                values[name] = known[name].kind.read(value, reader)
            else:
                near = did_you_mean(name, [other for other in known if other not in pairs])
                misspelled += near
                reader.unknown(key, name, near, f"known keys: {', '.join(known)}")
        absent = [name for name, field in known.items() if field.required and name not in pairs]
        absent += [] if pairs.keys() & set(self.one_of) else self.one_of[:1]
        missing = [name for name in absent if f"'{name}'" not in misspelled]
        if missing and node.id == "mapping":
            reader.refuse(node, f"`{'`, `'.join(missing)}` is missing from {self.what}")
        return values

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the record."""
        properties = {field.name: {"description": field.doc, **field.kind.json_schema()} for field in self.fields}
        required = [field.name for field in self.fields if field.required]
        requires: dict[str, object] = {"required": required} if required else {}
        one_of: dict[str, object] = {"anyOf": [{"required": [name]} for name in self.one_of]} if self.one_of else {}
        return {"type": "object", "properties": properties, **requires, **one_of, "additionalProperties": False}


@dataclass(frozen=True)
class ByForm:
    """One of several kinds, chosen by whether a value, a mapping or a list was written."""

    scalar: Kind
    mapping: Kind | None = None
    sequence: Kind | None = None

    def read(self, node: Node, reader: Reader) -> object:
        """Return the value, read as the kind for its form."""
        kinds = {"mapping": self.mapping, "sequence": self.sequence}
        return (kinds.get(node.id) or self.scalar).read(node, reader)

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema, an alternative of all kinds."""
        kinds = (self.scalar, self.mapping, self.sequence)
        return {"anyOf": [kind.json_schema() for kind in kinds if kind is not None]}


@dataclass(frozen=True)
class Arguments:
    """The arguments of a sample; the operator's schema decides which values are valid."""

    tensor: Kind

    def read(self, node: Node, reader: Reader) -> object:
        """Return the arguments as plain Python values."""
        return self._value(node, reader)

    def _value(self, node: Node, reader: Reader) -> object:
        if _is_scalar(node):
            return self._plain(node, reader)
        if node.id == "sequence":
            return [self._value(item, reader) for item in node.value]
        pairs = reader.mapping(node, "a mapping")
        return {name: self._value(value, reader) for name, (_, value) in pairs.items()}

    def _plain(self, node: ScalarNode, reader: Reader) -> object:
        try:
            return plain_value(node.value) if node.style is None else node.value
        except ValueError:  # Python limits the digits of an int
            reader.refuse(node, "the number is too long")
            return None

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "additionalProperties": {"anyOf": [self.tensor.json_schema(), {"not": {"type": "object"}}]},
        }


def plain_value(text: str) -> object:
    """Return the value of an unquoted YAML scalar.

    It follows the core schema of YAML 1.2, in which `1e-5` is a number and `no` is a word.
    """
    if text in _NOTHING:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def _is_scalar(node: Node) -> TypeGuard[ScalarNode]:
    return node.id == "scalar"


def _is_nothing(node: Node) -> bool:
    return _is_scalar(node) and node.style is None and node.value in _NOTHING


def _described(node: Node) -> str:
    if not _is_scalar(node):
        return {"mapping": "a mapping", "sequence": "a list"}[node.id]
    text = node.value if len(node.value) <= 60 else f"{node.value[:57]}..."
    return "nothing" if _is_nothing(node) else f"'{text}'"
