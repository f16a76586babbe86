"""The kernels of one library: built when their device is first needed, then opened once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from opbridge._core import Kernel, load_kernel
from opbridge.errors import KernelError, ManifestError, UnsupportedError
from opbridge.manifest.kernels import KernelRef
from opbridge.toolchains import BuildRequest, BuiltLibrary, build, build_many

if TYPE_CHECKING:
    from opbridge.cache import Cache
    from opbridge.native.catalog import Catalog

LANGUAGES = {"cpu": "c++"}
"""The language of a device's sources; further devices come with their toolchains."""

_LIBRARY_SUFFIXES = (".so", ".dylib", ".dll")


class KernelStore:
    def __init__(self, catalog: Catalog, root: Path, cache: Cache, allow_outside: bool = False) -> None:
        self._catalog = catalog
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
            sources = [path for path in refs if not path.endswith(_LIBRARY_SUFFIXES)]
            built = self._build([self._request(device, path) for path in sources])
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
        return load_kernel(os.fspath(self._libraries[device, ref.path]), ref.symbol or entry.name.partition("::")[2])

    def _build(self, requests: list[BuildRequest]) -> list[BuiltLibrary]:
        if len(requests) == 1:
            return [build(requests[0], self._cache)]
        return build_many(requests, self._cache) if requests else []

    def _request(self, device: str, path: str) -> BuildRequest:
        if device not in LANGUAGES:
            raise UnsupportedError(
                f"this version of opbridge compiles kernels for {_listed(LANGUAGES)}, not for {device}; "
                f"build {path} with your own compiler and name the library: `{device}: {Path(path).stem}.so:symbol`"
            )
        source = self._root / path
        return BuildRequest(
            sources=(source,), output=f"{Path(path).stem}.so", language=LANGUAGES[device], root=self._root
        )

    def _check_place(self, ref: KernelRef) -> None:
        if not self._allow_outside:
            ref.check_inside(self._root, None)
        if not (self._root / (ref.path or "")).is_file():
            from opbridge.manifest.document import nearest_file

            missing = self._root / (ref.path or "")
            raise ManifestError(f"no such file: {missing}", None, nearest_file(missing))


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
