"""Shared parts of all dialect readers: a YAML file with the place of everything in it, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from opbridge.base.errors import InputError, Location, ManifestError
from opbridge.waist.manifest.field_kinds import Kind, Reader
from opbridge.waist.manifest.yaml_reader import Document, decode
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    Node = ScalarNode | SequenceNode | MappingNode

T = TypeVar("T")
Path_ = tuple[str | int, ...]
"""A place below the document's root: keys of mappings and numbers of list items."""

_FLAGS = {"true": True, "True": True, "false": False, "False": False}


class LenientReader(Reader):
    """A reader that leaves out unknown fields, which newer files have, and records them."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.left_out: list[tuple[str, Location]] = []

    def unknown(self, key: Node, name: str, near: str, known: str) -> None:
        """Record an unknown field; one that resembles a known field is an error."""
        if near:
            super().unknown(key, name, near, known)
        else:
            self.left_out.append((name, self.document.location(key)))


@dataclass(frozen=True)
class Source:
    """One input file, as it was when it was read."""

    path: Path
    data: bytes
    strict: bool = False
    """Treat unknown fields as errors."""

    @cached_property
    def document(self) -> Document:
        """The parsed document."""
        return Document(decode(self.data, self.path), str(self.path))

    @cached_property
    def reader(self) -> Reader:
        """The reader of the document, which collects its errors."""
        return Reader(self.document) if self.strict else LenientReader(self.document)

    def unknown_fields(self) -> dict[str, list[Location]]:
        """Return the places of the fields that were left out, by name."""
        found: dict[str, list[Location]] = {}
        for name, where in self.reader.left_out if isinstance(self.reader, LenientReader) else ():
            found.setdefault(name, []).append(where)
        return found

    @cached_property
    def spoiled(self) -> set[str]:
        """Names of operators with faulty declarations: their absence elsewhere is not a separate error."""
        return set()

    def spoil(self, declaration: str) -> None:
        """Record that the declaration of an operator is faulty."""
        self.spoiled.add(declaration.partition("(")[0].strip().rpartition("::")[2])

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the root, or of its first entry if it is a list; they determine the dialect."""
        root = self.document.root
        if root.id == "sequence" and root.value:
            root = root.value[0]
        return frozenset(key.value for key, _ in root.value) if root.id == "mapping" else frozenset()

    @property
    def is_list(self) -> bool:
        """Whether the root is a list."""
        return self.document.root.id == "sequence"

    def read(self, kind: Kind) -> object:
        """Read the whole document as a kind."""
        return kind.read(self.document.root, self.reader)

    def at(self, *path: str | int) -> Location:
        """Return the location of a path below the root."""
        return self.document.location(self.document.root, path)

    def refuse(self, message: str, where: Location, hint: str = "") -> None:
        """Record an error."""
        self.reader.errors.append(ManifestError(message, where, hint))

    def refuse_unknown(self, name: str, near: str, known: str, *path: str | int) -> None:
        """Record an unknown key in a mapping that is not a record."""
        node: Any = self.document.node(self.document.root, path)
        self.reader.unknown(node, name, near, known)

    def leave_out(self, errors: Iterable[InputError]) -> bool:
        """Remove the entries that contain errors; return False if an error is in no entry."""
        entries = [(entry, items) for items in _lists(self.document.root) for entry in items]
        dropped: dict[int, tuple[Node, list[Node]]] = {}
        for error in errors:
            place = (error.where.line, error.where.column) if error.where else (0, 0)
            around = [each for each in entries if _start(each[0]) <= place < _end(each[0])]
            if not around:
                return False
            found = around[-1]
            dropped[id(found[0])] = found
        for entry, items in dropped.values():
            items.remove(entry)
            for key, value in entry.value if entry.id == "mapping" else ():
                if key.value == "func":
                    self.spoil(str(value.value))
        del self.__dict__["reader"]  # The next use reads again.
        return True

    def attempt(self, make: Callable[..., T], *arguments: object) -> T | None:
        """Return the result of `make`; None, and one more error of this file, if it fails."""
        return self.reader.attempt(make, *arguments)

    def attempts(self, make: Callable[..., T], *arguments: object) -> list[T]:
        """Return the result of `make` in a list, which is empty if it fails."""
        made = self.attempt(make, *arguments)
        return [] if made is None else [made]

    def schema(self, text: str, where: Location) -> Schema | None:
        """Parse a schema; on an error, record it, mark the operator as spoiled, and return None."""
        schema = self.attempt(lambda: Schema.parse(text, where=where))
        if schema is None:
            self.spoil(text)
        return schema

    def flag(self, fields: dict[str, object], name: str, path: Path_, *, default: bool = False) -> bool:
        """Return a boolean field; record an error for any other value."""
        text = fields.get(name)
        if text is None:
            return default
        if text in _FLAGS:
            return _FLAGS[str(text)]
        self.refuse(f"expected true or false for `{name}`, got '{text}'", self.at(*path, name))
        return default


@dataclass(frozen=True)
class OrNothing:
    """A list, a mapping, or an empty value: real files contain sections that are not filled yet."""

    kind: Kind

    def read(self, node: Node, reader: Reader) -> object:
        """Return None for an empty value, else read it as the kind."""
        return None if node.value in ([], "", "~", "null") else self.kind.read(node, reader)

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema, which also allows null."""
        return {"anyOf": [self.kind.json_schema(), {"type": "null"}]}


@dataclass(frozen=True)
class Anything:
    """A value of any form, which is not inspected."""

    def read(self, node: Node, reader: Reader) -> object:
        """Return the node itself."""
        return node

    def json_schema(self) -> dict[str, object]:
        """Return the JSON schema that allows every value."""
        return {}


def _lists(root: Node) -> list[list[Node]]:
    """Return the lists of entries of a file: the whole file, or one per section."""
    nodes = [root] if root.id == "sequence" else [value for _, value in root.value] if root.id == "mapping" else []
    return [node.value for node in nodes if node.id == "sequence"]


def _start(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _end(node: Node) -> tuple[int, int]:
    return node.end_mark.line + 1, node.end_mark.column + 1


@contextmanager
def placed(where: Location) -> Iterator[None]:
    """Add a location to errors that have none."""
    try:
        yield
    except InputError as error:
        if error.where is not None:
            raise
        raise ManifestError(error.message, where, error.hint) from None


def mappings(value: object) -> Iterable[tuple[int, dict[str, object]]]:
    """Return the items of a list that are mappings, with their numbers; others were refused when they were read."""
    items = value if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, dict)]


def texts(value: object) -> dict[str, str]:
    """Return the pairs of a mapping from names to texts."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}


def names_in(value: object) -> tuple[str, ...]:
    """Return the names in `a, b` or `[a, b]`; files contain both forms."""
    items = value if isinstance(value, list) else str(value or "").split(",")
    return tuple(str(item).strip() for item in items if item is not None and str(item).strip())
