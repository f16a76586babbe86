"""The part of a library's declarations that stays loaded: enough to run it, small enough to cache.

Parsing a manifest of a thousand operators takes a second; reading its catalog from the cache takes milliseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

from opbridge.waist.manifest.kernel_origins import KernelRef

if TYPE_CHECKING:
    from opbridge.waist.manifest import OpSpec


_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def code_stamp() -> str:
    """Return a text that changes with the code that builds catalogs.

    A changed opbridge therefore never reads a catalog that an older version cached.
    """
    waist = (os.path.join("waist", name) for name in ("", "schema", "rules", "formulas", "manifest"))
    parts = ("base", *waist, "native")
    folders = (_PACKAGE, *(os.path.join(_PACKAGE, name) for name in parts))
    files = [entry for folder in folders for entry in os.scandir(folder) if entry.name.endswith(".py")]
    stats = ((entry.path, entry.stat()) for entry in files)
    return "\n".join(sorted(f"{path} {status.st_size} {status.st_mtime_ns}" for path, status in stats))


@dataclass(frozen=True)
class CatalogEntry:
    """One operator of a catalog."""

    name: str
    """The name with namespace and overload."""
    schema: str
    kernels: tuple[KernelRef, ...]
    counts_flops: bool = False
    launch: tuple[tuple[str, str], ...] = ()
    """The `launch` rule, by kernel parameter."""

    @property
    def operator(self) -> str | None:
        """The PyTorch operator that this one renames, if any; such an operator has no other kernel."""
        return self.kernels[0].operator if self.kernels else None


class _Rows(Sequence[CatalogEntry]):
    """Entries as lines of a stored catalog, each parsed on first use."""

    def __init__(self, names: Sequence[str], lines: Sequence[bytes]) -> None:
        self._names = names
        self._lines = lines
        self._read: dict[int, CatalogEntry] = {}

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> CatalogEntry: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[CatalogEntry, ...]: ...

    def __getitem__(self, index: int | slice) -> CatalogEntry | tuple[CatalogEntry, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        if index not in self._read:
            self._read[index] = self._entry(self._names[index], self._lines[index])
        return self._read[index]

    @staticmethod
    def _entry(name: str, line: bytes) -> CatalogEntry:
        schema, kernels, counts_flops, launch = json.loads(line)
        sizes = tuple((parameter, value) for parameter, value in launch)
        return CatalogEntry(name, schema, tuple(KernelRef(*kernel) for kernel in kernels), counts_flops, sizes)


@dataclass(frozen=True)
class Catalog:
    """The operators of a loaded library."""

    namespace: str
    names: tuple[str, ...]
    """The names of the operators, with namespace and overload."""
    entries: Sequence[CatalogEntry]
    """One entry for each name; most entries of a large library are never used."""
    kernels: tuple[tuple[KernelRef, ...], ...]
    """The distinct kernels without their symbols, which are few and identify what must be built."""
    plan: bytes
    """The plan that native/plan.h reads."""

    @classmethod
    def of(cls, namespace: str, specs: Sequence[OpSpec]) -> Catalog:
        """Build the catalog of a library."""
        # Imported here because it imports the compilers of rules, which reading a catalog does not need.
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
        kernels = dict.fromkeys(tuple(map(_without_symbol, entry.kernels)) for entry in entries)
        return cls(namespace, tuple(entry.name for entry in entries), entries, tuple(kernels), encode(specs))

    def to_bytes(self) -> bytes:
        """Return the catalog in the form for the cache."""
        lines = [
            _line([self.namespace, self.names, [_fields(kernels) for kernels in self.kernels]]),
            *(_line([one.schema, _fields(one.kernels), one.counts_flops, one.launch]) for one in self.entries),
        ]
        head = b"\n".join(lines)
        return len(head).to_bytes(8, "little") + head + self.plan

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        """Read a catalog from the cache; its entries are parsed on first use."""
        end = 8 + int.from_bytes(data[:8], "little")
        first, *lines = data[8:end].split(b"\n")
        namespace, names, kernels = json.loads(first)
        different = tuple(tuple(KernelRef(*kernel) for kernel in refs) for refs in kernels)
        return cls(namespace, tuple(names), _Rows(names, lines), different, data[end:])


def _without_symbol(ref: KernelRef) -> KernelRef:
    # Only the presence of a text matters.
    return replace(ref, symbol=None, source=None if ref.source is None else "")


def _line(values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def _fields(kernels: tuple[KernelRef, ...]) -> list[tuple[object, ...]]:
    return [(ref.device, ref.path, ref.symbol, ref.operator, ref.has_tvm_ffi_call, ref.source) for ref in kernels]
