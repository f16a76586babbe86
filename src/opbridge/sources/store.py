"""The kernels of one library: built when their device is first needed, then opened once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from opbridge._core import Kernel, load_kernel
from opbridge.errors import KernelError, UnsupportedError
from opbridge.manifest.kernels import KernelRef
from opbridge.sources import elf
from opbridge.toolchains import BuildRequest, BuiltLibrary, build, build_many

if TYPE_CHECKING:
    from opbridge.cache import Cache
    from opbridge.native.catalog import Catalog

LANGUAGES = {"cpu": "c++"}
"""The language of a device's sources; further devices come with their toolchains."""


class KernelStore:
    def __init__(
        self,
        catalog: Catalog,
        root: Path,
        cache: Cache,
        allow_outside: bool = False,
        begun: Callable[[], BuiltLibrary] | None = None,
    ) -> None:
        """`begun` is the build of the only source, where that was started before its rules were read."""
        self._catalog = catalog
        self._begun = begun
        self._root = root
        self._cache = cache
        self._allow_outside = allow_outside
        self._libraries: dict[tuple[str, str], Path] = {}
        self._lock = Lock()

    def build(self, device: str) -> list[BuiltLibrary]:
        """Builds all kernels of a device, in parallel; what is cached costs a look."""
        with self._lock:
            refs = {
                ref.path: ref
                for entry in self._catalog.entries
                for ref in entry.kernels
                if ref.device == device and ref.path is not None and (device, ref.path) not in self._libraries
            }
            for ref in refs.values():
                self._check_place(ref)
            sources = [path for path, ref in refs.items() if not ref.is_library]
            built = self._build([source_request(self._root, path, device) for path in sources])
            for path, library in zip(sources, built, strict=True):
                self._libraries[device, path] = library.path
            for path in refs:
                self._libraries.setdefault((device, path), self._root / path)
            return built

    def kernel(self, index: int, device: str) -> Kernel:
        """The kernel of one operator for one device."""
        entry = self._catalog.entries[index]
        ref = next((ref for ref in entry.kernels if ref.device == device), None)
        if ref is None:
            have = ", ".join(f"{known.device}: {known}" for known in entry.kernels)
            raise KernelError(
                f"{entry.name} has no kernel for {device}; it has {have}\n"
                f"  add `{device}: FILE` under its `kernels`, or move the tensors to a device it has"
            )
        if ref.path is None:
            raise UnsupportedError(
                f"{entry.name}: {ref} as a kernel is not available in this version; give a source file"
            )
        if (device, ref.path) not in self._libraries:
            self.build(device)
        symbol = ref.symbol or entry.name.partition("::")[2]
        return load_kernel(os.fspath(self._libraries[device, ref.path]), symbol, ref.path)

    def _build(self, requests: list[BuildRequest]) -> list[BuiltLibrary]:
        begun, self._begun = self._begun, None
        if begun is not None:
            return [begun()]
        if len(requests) == 1:
            return [build(requests[0], self._cache)]
        return build_many(requests, self._cache) if requests else []

    def _check_place(self, ref: KernelRef) -> None:
        if not self._allow_outside:
            ref.check_inside(self._root, None)
        path = self._root / (ref.path or "")
        if not os.path.isfile(path):
            from opbridge.manifest.document import missing_file

            raise missing_file(path)
        if ref.is_library:
            elf.check_library(path)


def language_of(device: str) -> str:
    """What the sources of a device's kernels are compiled as."""
    if device not in LANGUAGES:
        raise UnsupportedError(
            f"this version of opbridge compiles kernels for {', '.join(LANGUAGES)}, not yet for {device}; "
            f"build it with your own compiler and name the library: `{device}: NAME.so:symbol`"
        )
    return LANGUAGES[device]


def source_request(root: Path, path: str, device: str) -> BuildRequest:
    """How one source of a library is built."""
    return BuildRequest((root / path,), f"{Path(path).stem}.so", language=language_of(device), root=root)
