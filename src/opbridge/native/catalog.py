"""What a loaded library keeps of its declarations: enough to run it, small enough to cache.

Parsing a manifest of a thousand operators takes a second; reading its catalog back takes milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from opbridge.manifest.kernels import KernelRef

if TYPE_CHECKING:
    from opbridge.manifest import OpSpec


@dataclass(frozen=True)
class CatalogEntry:
    name: str
    """Namespace, name and overload."""
    schema: str
    kernels: tuple[KernelRef, ...]


@dataclass(frozen=True)
class Catalog:
    namespace: str
    entries: tuple[CatalogEntry, ...]
    plan: bytes
    """Read by native/plan.h."""

    @classmethod
    def of(cls, namespace: str, specs: Sequence[OpSpec]) -> Catalog:
        # Imported where it is needed: it brings the compilers of rules, which reading a catalog back does without.
        from opbridge.native.plan import encode

        entries = tuple(CatalogEntry(spec.schema.full_name, str(spec.schema), spec.kernels) for spec in specs)
        return cls(namespace, entries, encode(specs))

    def to_bytes(self) -> bytes:
        rows = [(entry.name, entry.schema, [astuple(kernel) for kernel in entry.kernels]) for entry in self.entries]
        head = json.dumps([self.namespace, rows], separators=(",", ":")).encode()
        return len(head).to_bytes(8, "little") + head + self.plan

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        end = 8 + int.from_bytes(data[:8], "little")
        namespace, rows = json.loads(data[8:end])
        entries = tuple(
            CatalogEntry(name, schema, tuple(KernelRef(*kernel) for kernel in kernels))
            for name, schema, kernels in rows
        )
        return cls(namespace, entries, data[end:])
