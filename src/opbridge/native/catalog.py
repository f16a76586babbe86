"""What a loaded library keeps of its declarations: enough to run it, small enough to cache.

Parsing a manifest of a thousand operators takes a second; reading its catalog back takes milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, NamedTuple, overload

from opbridge.manifest.kernels import KernelRef

if TYPE_CHECKING:
    from opbridge.manifest import OpSpec


class CatalogEntry(NamedTuple):
    name: str
    """Namespace, name and overload."""
    schema: str
    packed_kernels: str

    @property
    def kernels(self) -> tuple[KernelRef, ...]:
        return tuple(KernelRef(*fields) for fields in json.loads(self.packed_kernels))


class Entries(Sequence[CatalogEntry]):
    """The entries as columns of texts, each made when it is looked at.

    A thousand objects that stay alive would be a thousand more for Python's garbage collector, which sets out through
    all of a framework's objects once enough are new.
    """

    def __init__(self, names: list[str], schemas: list[str], kernels: list[str]) -> None:
        self.columns = (names, schemas, kernels)

    @overload
    def __getitem__(self, place: int) -> CatalogEntry: ...

    @overload
    def __getitem__(self, place: slice) -> Entries: ...

    def __getitem__(self, place: int | slice) -> CatalogEntry | Entries:
        names, schemas, kernels = self.columns
        if isinstance(place, slice):
            return Entries(names[place], schemas[place], kernels[place])
        return CatalogEntry(names[place], schemas[place], kernels[place])

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True)
class Catalog:
    namespace: str
    entries: Entries
    plan: bytes
    """Read by native/plan.h."""

    @classmethod
    def of(cls, namespace: str, specs: Sequence[OpSpec]) -> Catalog:
        from opbridge.native.plan import encode

        names = [spec.schema.full_name for spec in specs]
        kernels = [json.dumps([astuple(kernel) for kernel in spec.kernels]) for spec in specs]
        return cls(namespace, Entries(names, [str(spec.schema) for spec in specs], kernels), encode(specs))

    def to_bytes(self) -> bytes:
        head = json.dumps([self.namespace, *self.entries.columns], separators=(",", ":")).encode()
        return len(head).to_bytes(8, "little") + head + self.plan

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        end = 8 + int.from_bytes(data[:8], "little")
        namespace, *columns = json.loads(data[8:end])
        return cls(namespace, Entries(*columns), data[end:])
