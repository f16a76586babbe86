"""What a loaded library keeps of its declarations: enough to run it, small enough to cache.

Parsing a manifest of a thousand operators takes a second; reading its catalog back takes milliseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

from opbridge.manifest.kernels import KernelRef

if TYPE_CHECKING:
    from opbridge.manifest import OpSpec


_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def code_stamp() -> str:
    """Changes with the code that makes catalogs, so that work on opbridge itself never meets one of an older make."""
    parts = ("schema", "rules", "formulas", "manifest", "native")
    folders = (_PACKAGE, *(os.path.join(_PACKAGE, name) for name in parts))
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


class _Rows(Sequence[CatalogEntry]):
    """Entries as lines of a stored catalog, each read when it is first asked for."""

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
    namespace: str
    names: tuple[str, ...]
    """Of the operators, with namespace and overload."""
    entries: Sequence[CatalogEntry]
    """One for each name; of a large library most are never asked for."""
    kernels: tuple[tuple[KernelRef, ...], ...]
    """The different kernels that operators have, but for their symbols: few, and what is built is known by them."""
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
        kernels = dict.fromkeys(tuple(map(_without_symbol, entry.kernels)) for entry in entries)
        return cls(namespace, tuple(entry.name for entry in entries), entries, tuple(kernels), encode(specs))

    def to_bytes(self) -> bytes:
        lines = [
            _line([self.namespace, self.names, [_fields(kernels) for kernels in self.kernels]]),
            *(_line([one.schema, _fields(one.kernels), one.counts_flops, one.launch]) for one in self.entries),
        ]
        head = b"\n".join(lines)
        return len(head).to_bytes(8, "little") + head + self.plan

    @classmethod
    def from_bytes(cls, data: bytes) -> Catalog:
        end = 8 + int.from_bytes(data[:8], "little")
        first, *lines = data[8:end].split(b"\n")
        namespace, names, kernels = json.loads(first)
        different = tuple(tuple(KernelRef(*kernel) for kernel in refs) for refs in kernels)
        return cls(namespace, tuple(names), _Rows(names, lines), different, data[end:])


def _without_symbol(ref: KernelRef) -> KernelRef:
    # That there is a text of its own is enough to know.
    return replace(ref, symbol=None, source=None if ref.source is None else "")


def _line(values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def _fields(kernels: tuple[KernelRef, ...]) -> list[tuple[object, ...]]:
    return [(ref.device, ref.path, ref.symbol, ref.operator, ref.has_tvm_ffi_call, ref.source) for ref in kernels]
