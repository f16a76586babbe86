"""The kernels of one library: built when their device is first needed, then opened once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
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
    from opbridge.native.catalog import Catalog, CatalogEntry

LANGUAGES = {"cpu": "c++", "cuda": "cuda", "cuda-twin": "cuda-twin"}
"""The language of a device's sources; further devices come with their toolchains."""

TWIN = "cuda-twin"
"""The device whose kernels are CUDA's, run on the CPU."""

USE_TWIN = "OPBRIDGE_CUDA_TWIN"
"""The variable that has every library run its CUDA kernels on the CPU; `0`, like nothing, has not."""

_HOW_TO_TWIN = f'ob.load(..., device="{TWIN}"), or {USE_TWIN}=1 in the environment'


class KernelStore:
    def __init__(
        self,
        catalog: Catalog,
        root: Path,
        cache: Cache,
        allow_outside: bool = False,
        begun: Callable[[], BuiltLibrary] | None = None,
        twin: bool = False,
    ) -> None:
        """`begun` is the build of the only source, where that was started before its rules were read; with `twin`
        tensors on the CPU go to the kernels for CUDA."""
        self._twin = twin or os.environ.get(USE_TWIN, "0") not in ("", "0")
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
                if (ref := self._ref(entry, device)) is not None
                and ref.path is not None
                and (ref.device, ref.path) not in self._libraries
            }
            for ref in refs.values():
                self._check_place(ref)
            sources = [(ref.device, path) for path, ref in refs.items() if not ref.is_library]
            built = self._build([source_request(self._root, path, language) for language, path in sources])
            for place, library in zip(sources, built, strict=True):
                self._libraries[place] = library.path
            for path, ref in refs.items():
                self._libraries.setdefault((ref.device, path), self._root / path)
            return built

    def kernel(self, index: int, device: str) -> Kernel:
        """The kernel of one operator for tensors on one device."""
        entry = self._catalog.entries[index]
        ref = self._ref(entry, device)
        if ref is None:
            have = ", ".join(f"{known.device}: {known}" for known in entry.kernels)
            raise KernelError(
                f"{entry.name} has no kernel for {device}; it has {have}\n"
                f"  add `{device}: FILE` under its `kernels`, or move the tensors to a device it has"
                + (f"\n  or run its CUDA kernel on the CPU: {_HOW_TO_TWIN}" if _can_twin(entry, device) else "")
            )
        if ref.path is None:
            raise UnsupportedError(f"{entry.name}: {ref} is PyTorch's own operator, which has no kernel to call")
        if (ref.device, ref.path) not in self._libraries:
            self.build(device)
        symbol = ref.symbol or entry.name.partition("::")[2]
        return _opener(ref)(os.fspath(self._libraries[ref.device, ref.path]), symbol, ref.path)

    def devices(self, index: int) -> tuple[str, ...]:
        """Where tensors may be that one operator has a kernel for; the CPU first, whose kernel is easiest to build."""
        entry = self._catalog.entries[index]
        others = (ref.device for ref in entry.kernels if ref.device not in ("cpu", TWIN))
        return (*(("cpu",) if self._ref(entry, "cpu") else ()), *others)

    def device_of(self, index: int, device: str) -> str | None:
        """Whose kernel tensors on a device go to; None where the operator has none for them."""
        ref = self._ref(self._catalog.entries[index], device)
        return ref.device if ref else None

    def beside(self, twin: bool) -> KernelStore:
        """The same kernels, where tensors on the CPU go to those for CUDA, or do not."""
        return KernelStore(self._catalog, self._root, self._cache, self._allow_outside, twin=twin)

    def _ref(self, entry: CatalogEntry, device: str) -> KernelRef | None:
        by_device = {ref.device: ref for ref in entry.kernels}
        if device != "cpu":
            return by_device.get(device)
        twin = by_device.get(TWIN)
        if self._twin and twin is None and _can_twin(entry, device):
            twin = replace(by_device["cuda"], device=TWIN)
        plain = by_device.get("cpu")
        return (twin or plain) if self._twin else (plain or twin)

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


def _can_twin(entry: CatalogEntry, device: str) -> bool:
    return device == "cpu" and any(ref.device == "cuda" and ref.path and not ref.is_library for ref in entry.kernels)


def _opener(ref: KernelRef) -> Callable[[str, str, str], Kernel]:
    """What opens the library of a kernel, by the call that it has."""
    if not ref.has_tvm_ffi_call:
        return load_kernel
    from opbridge.sources.tvm_ffi import load_function

    return load_function


def language_of(device: str) -> str:
    """What the sources of a device's kernels are compiled as."""
    if device not in LANGUAGES:
        raise UnsupportedError(
            f"this version does not build for {device}\n"
            f"  it does for {', '.join(LANGUAGES)}; build the kernel with your own compiler, and name its library: "
            f"`{device}: NAME.so:symbol`"
        )
    return LANGUAGES[device]


def source_request(root: Path, path: str, device: str, portable: bool = False) -> BuildRequest:
    """How one source of a library is built."""
    language = language_of(device)
    if language == "c++" and path.endswith(".cu"):
        raise UnsupportedError(f"{path} is CUDA, which is no kernel for the CPU; name it for `cuda`, or for `{TWIN}`")
    return BuildRequest(
        (root / path,),
        f"{Path(path).stem}.so",
        defines=defines_for(device),
        language=language,
        portable=portable,
        root=root,
    )


def defines_for(device: str) -> tuple[tuple[str, str], ...]:
    """A twin's kernels are checked as they run, unless the user wants them fast."""
    if device != TWIN:
        return ()
    from opbridge.toolchains.cuda_twin import CHECKS

    return () if os.environ.get(CHECKS) == "0" else ((CHECKS, "1"),)


def companions(device: str) -> tuple[Path, ...]:
    """What a library of this device's kernels needs beside it, wherever it goes."""
    if device != TWIN:
        return ()
    from opbridge.toolchains.cuda_twin import runtime

    return (runtime(),)
