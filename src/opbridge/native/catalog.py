"""What a loaded library keeps of its declarations: enough to run it, small enough to cache.

Parsing a manifest of a thousand operators takes a second; reading its catalog back takes milliseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from opbridge.manifest.kernels import KernelRef

if TYPE_CHECKING:
    from opbridge.manifest import OpSpec


_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def code_stamp() -> str:
    """Changes with the code that makes catalogs, so that work on opbridge itself never meets one of an older make."""
    folders = (_PACKAGE, *(os.path.join(_PACKAGE, name) for name in ("schema", "rules", "manifest", "native")))
    files = [entry for folder in folders for entry in os.scandir(folder) if entry.name.endswith(".py")]
    stats = ((entry.path, entry.stat()) for entry in files)
    return "\n".join(sorted(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in stats))


@dataclass(frozen=True)
class CatalogEntry:
    name: str
    """Namespace, name and overload."""
    schema: str
    kernels: tuple[KernelRef, ...]
    counts_flops: bool = False
    launch: tuple[tuple[str, str], ...] = ()
    """What the rule `launch` says, by parameter of the kernel."""

    @property
    def operator(self) -> str | None:
        """The operator of PyTorch's that this one is another name for; such an operator has no kernel but that."""
        return self.kernels[0].operator if self.kernels else None


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

        entries = tuple(
            CatalogEntry(
                spec.schema.full_name,
                str(spec.schema),
                spec.kernels,
                spec.rules.flops is not None,
                spec.rules.launch_texts,
            )
            for spec in specs
        )
        return cls(namespace, entries, encode(specs))

    def to_bytes(self) -> bytes:
        rows = [
            (entry.name, entry.schema, [astuple(kernel) for kernel in entry.kernels], entry.counts_flops, entry.launch)
            for entry in self.entries
        ]
        head = json.dumps([self.namespace, rows], separators=(",", ":")).encode()
        return len(head).to_bytes(8, "little") + head + self.plan

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        end = 8 + int.from_bytes(data[:8], "little")
        namespace, rows = json.loads(data[8:end])
        entries = tuple(
            CatalogEntry(
                name,
                schema,
                tuple(KernelRef(*kernel) for kernel in kernels),
                counts_flops,
                tuple((parameter, value) for parameter, value in launch),
            )
            for name, schema, kernels, counts_flops, launch in rows
        )
        return cls(namespace, entries, data[end:])
