"""The kernel files that a manifest names: what each is built by, and what its library is called elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import InputError
from opbridge.manifest import Manifest, OpSpec
from opbridge.manifest.kernels import KernelRef, is_library
from opbridge.sources.ascend.use import ASCEND_C, AscendUses, Use
from opbridge.sources.registering import registers
from opbridge.sources.store import source_request
from opbridge.toolchains import BuildRequest


@dataclass(frozen=True)
class KernelFile:
    name: str
    """The path as the manifest has it."""
    device: str
    path: Path

    @property
    def is_built(self) -> bool:
        return is_library(self.name)

    @property
    def root(self) -> Path:
        """The folder that its name starts from."""
        return self.path.parents[len(Path(self.name).parts) - 1]

    @property
    def library(self) -> Path:
        """What the library is called below the folder that -o names."""
        path = Path(self.name)
        return path if self.is_built else path.with_name(f"{path.stem}_{self.device}.so")

    def operators(self, manifest: Manifest) -> list[tuple[str, OpSpec]]:
        """Those whose kernels are in it, with the kernels' symbols."""
        return [
            (kernel.symbol or op.schema.name, op)
            for op in manifest.ops
            for kernel in op.kernels
            if (kernel.path, kernel.device) == (self.name, self.device)
        ]

    def by_symbol(self, manifest: Manifest) -> dict[str, OpSpec]:
        """The operators by their kernels; the first one, where several share a kernel."""
        return dict(reversed(self.operators(manifest)))

    def functions(self, manifest: Manifest) -> list[tuple[str, OpSpec]]:
        """Its operators with what its library exports for each; none where it registers them with PyTorch itself."""
        if registers(KernelRef(self.device, self.name), self.root):
            return []
        hosts = {use.operator: use.host for use in self._uses(manifest).bare} if self.device in ASCEND_C else {}
        return [(hosts.get(op.schema.full_name, symbol), op) for symbol, op in self.operators(manifest)]

    def request(self, manifest: Manifest, portable: bool) -> BuildRequest:
        """What loading the manifest asks for too, so that it then finds the library in the cache."""
        uses = self._uses(manifest) if self.device in ASCEND_C else None
        return source_request(self.root, self.name, self.device, portable, uses)

    def _uses(self, manifest: Manifest) -> AscendUses:
        uses = (
            Use(op.schema.full_name, str(op.schema), symbol, op.rules.launch_texts)
            for symbol, op in self.operators(manifest)
        )
        return AscendUses.of(self.path, uses)


def kernel_files(manifest: Manifest, device: str | None) -> list[KernelFile]:
    """The files of the manifest's kernels, each once; what a formula generates is none."""
    sources: dict[KernelFile, None] = {}
    for op in manifest.ops:
        for kernel in op.kernels:
            if kernel.path is not None and kernel.source is None and device in (None, kernel.device):
                sources[KernelFile(kernel.path, kernel.device, op.file(kernel))] = None
    return list(sources)


def require_distinct_names(sources: Iterable[KernelFile]) -> None:
    taken: dict[Path, KernelFile] = {}
    for source in sources:
        other = taken.setdefault(source.library, source)
        if other is not source:
            raise InputError(f"{other.name} and {source.name} would both become {source.library}", hint="rename one")
