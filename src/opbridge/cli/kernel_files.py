"""The kernel files that a manifest names: how each is built, and the name of its library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.sources.ascend.source_kind import ASCEND_C, AscendUses, Use
from opbridge.build.sources.store import source_request
from opbridge.build.sources.torch_registrations import registers
from opbridge.build.toolchains import BuildRequest
from opbridge.waist.manifest import Manifest, OpSpec
from opbridge.waist.manifest.kernel_origins import KernelRef, is_library


@dataclass(frozen=True)
class KernelFile:
    """One kernel file of a manifest, for one device."""

    name: str
    """The path as written in the manifest."""
    device: str
    path: Path

    @property
    def is_built(self) -> bool:
        """Whether the file is a library already."""
        return is_library(self.name)

    @property
    def root(self) -> Path:
        """The folder that the name is relative to."""
        return self.path.parents[len(Path(self.name).parts) - 1]

    @property
    def library(self) -> Path:
        """The path of the library, relative to the folder given with -o."""
        path = Path(self.name)
        return path if self.is_built else path.with_name(f"{path.stem}_{self.device}.so")

    def operators(self, manifest: Manifest) -> list[tuple[str, OpSpec]]:
        """Return the operators whose kernels are in this file, with the symbols of the kernels."""
        return [
            (kernel.symbol or op.schema.name, op)
            for op in manifest.ops
            for kernel in op.kernels
            if (kernel.path, kernel.device) == (self.name, self.device)
        ]

    def by_symbol(self, manifest: Manifest) -> dict[str, OpSpec]:
        """Return the operators by kernel symbol; if several share a kernel, the first one."""
        return dict(reversed(self.operators(manifest)))

    def functions(self, manifest: Manifest) -> list[tuple[str, OpSpec]]:
        """Return the operators with the function that the library exports for each.

        The list is empty if the file registers its operators with PyTorch itself.
        """
        if registers(KernelRef(self.device, self.name), self.root):
            return []
        hosts = {use.operator: use.host for use in self._uses(manifest).bare} if self.device in ASCEND_C else {}
        return [(hosts.get(op.schema.full_name, symbol), op) for symbol, op in self.operators(manifest)]

    def request(self, manifest: Manifest, portable: bool) -> BuildRequest:
        """Return the build request that loading the manifest uses, so that loading finds the library in the cache."""
        uses = self._uses(manifest) if self.device in ASCEND_C else None
        return source_request(self.root, self.name, self.device, portable, uses)

    def _uses(self, manifest: Manifest) -> AscendUses:
        uses = (
            Use(op.schema.full_name, str(op.schema), symbol, op.rules.launch_texts)
            for symbol, op in self.operators(manifest)
        )
        return AscendUses.of(self.path, uses)


def kernel_files(manifest: Manifest, device: str | None) -> list[KernelFile]:
    """Return the manifest's kernel files, each once, without those generated from formulas."""
    sources: dict[KernelFile, None] = {}
    for op in manifest.ops:
        for kernel in op.kernels:
            if kernel.path is not None and kernel.source is None and device in (None, kernel.device):
                sources[KernelFile(kernel.path, kernel.device, op.file(kernel))] = None
    return list(sources)


def require_distinct_names(sources: Iterable[KernelFile]) -> None:
    """Raise an InputError if two kernel files would produce libraries of the same name."""
    taken: dict[Path, KernelFile] = {}
    for source in sources:
        other = taken.setdefault(source.library, source)
        if other is not source:
            raise InputError(f"{other.name} and {source.name} would both become {source.library}", hint="rename one")
