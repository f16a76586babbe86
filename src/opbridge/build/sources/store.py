"""The kernels of one library, built when their device is first needed, and opened once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from opbridge._core import Kernel, load_kernel, name_kernel
from opbridge.base.errors import KernelError, UnsupportedError
from opbridge.build.sources import elf
from opbridge.build.sources.ascend.source_kind import ASCEND_C, AscendUses, Use
from opbridge.build.toolchains import BuildRequest, BuiltLibrary, build, build_many
from opbridge.build.toolchains.interface import PROFILE
from opbridge.build.toolchains.table import toolchain_for
from opbridge.waist.manifest.kernel_origins import TWINS, KernelRef

if TYPE_CHECKING:
    from opbridge.build.cache import Cache
    from opbridge.native.catalog import Catalog, CatalogEntry
    from opbridge.waist.manifest import OpSpec

LANGUAGES = {"cpu": "c++", "cuda": "cuda", "npu": "ascend"} | {twin: twin for twin in TWINS}
"""The language of the sources for each device."""

SIMULATED: dict[str, str] = {}
"""The twin for each device that is simulated in this process for a framework."""


class KernelStore:
    """The kernels of one library, which it builds and opens on demand."""

    def __init__(
        self,
        catalog: Catalog,
        root: Path,
        cache: Cache,
        allow_outside: bool = False,
        begun: Callable[[], BuiltLibrary] | None = None,
        twin: str | None = None,
        manifest: Path | None = None,
    ) -> None:
        """Create a store without building anything.

        `begun` is the build of the only source, if it was started before its rules were read. CPU tensors go to the
        kernels that `twin` runs. `manifest` is the file that declares the operators, if one does.
        """
        self._twins = tuple(name for name, one in TWINS.items() if name == twin or one.is_asked_for)
        self._catalog = catalog
        self._begun = begun
        self._root = root
        self._cache = cache
        self._allow_outside = allow_outside
        self._manifest = manifest
        self._libraries: dict[tuple[str, str], Path] = {}
        self._functions: dict[tuple[str, str], str] = {}
        """The exported functions of Ascend C libraries, by device and operator, if not named like the kernel."""
        self._lock = Lock()
        self._is_profiled = bool(os.environ.get(PROFILE))
        """Whether one call is profiled: then only its own kernel is compiled again, for counting."""

    def build(self, device: str) -> list[BuiltLibrary]:
        """Build all kernels of a device in parallel; cached ones cost only a lookup."""
        return [] if self._is_profiled else self._build_those(self._catalog.kernels, device)

    def _build_those(self, kernels_of_operators: Sequence[tuple[KernelRef, ...]], device: str) -> list[BuiltLibrary]:
        with self._lock:
            refs: dict[str, KernelRef] = {}
            wanted: dict[str, list[Use]] = {}
            for kernels in kernels_of_operators:
                ref = self._ref(kernels, device)
                if ref is not None and ref.path is not None and self._is_new(ref) and ref.source is None:
                    refs[ref.path] = ref
            if any(ref.device in ASCEND_C and not ref.is_library for ref in refs.values()):
                wanted = self._uses(refs, device)
            for ref in refs.values():
                self._check_place(ref)
            sources = [(ref.device, path) for path, ref in refs.items() if not ref.is_library]
            uses = {path: AscendUses.of(self._root / path, those) for path, those in wanted.items()}
            built = self._build([source_request(self._root, path, of, uses=uses.get(path)) for of, path in sources])
            for path, those in uses.items():
                self._functions |= {(refs[path].device, use.operator): use.host for use in those.bare}
            for place, library in zip(sources, built, strict=True):
                self._libraries[place] = library.path
            for path, ref in refs.items():
                self._libraries.setdefault((ref.device, path), self._root / path)
            return built

    def _is_new(self, ref: KernelRef) -> bool:
        library = self._libraries.get((ref.device, str(ref.path)))
        # The cache may have evicted a library that was not used for long.
        return library is None or not (ref.is_library or library.is_file())

    def _build_generated(self, ref: KernelRef) -> None:
        """Build the kernel of a formula when it is called: it has no author whose mistakes to report earlier."""
        with self._lock:
            if self._is_new(ref):
                path = generated_file(ref, self._cache)
                built = build(source_request(path.parent, path.name, ref.device), self._cache)
                self._libraries[ref.device, str(ref.path)] = built.path

    def kernel(self, index: int, device: str) -> Kernel:
        """Return the kernel of one operator for tensors on one device, building it on first use.

        Raises:
            KernelError: The operator has no kernel for the device, or its library does not load.
            UnsupportedError: The kernel is PyTorch's own operator.
        """
        entry = self._catalog.entries[index]
        ref = self._ref(entry.kernels, device)
        if ref is None:
            have = ", ".join(f"{known.device}: {known}" for known in entry.kernels)
            raise KernelError(
                f"{entry.name} has no kernel for {device}; it has {have}\n"
                f"  add `{device}: FILE` under its `kernels`, or move the tensors to a device it has"
                + "".join(_how_to_twin(name) for name in TWINS if device == "cpu" and twinned(entry.kernels, name))
            )
        if ref.path is None:
            raise UnsupportedError(f"{entry.name}: {ref} is PyTorch's own operator, which has no kernel to call")
        self._build_one(entry, ref, device)
        symbol = self._functions.get((ref.device, entry.name)) or _symbol(entry, ref)
        kernel = _opener(ref)(os.fspath(self._libraries[ref.device, ref.path]), symbol, ref.path)
        name_kernel(kernel, entry.name, self._advice(entry.name))
        return kernel

    def build_one(self, index: int, device: str) -> None:
        """Build what `kernel` opens, and open nothing; do nothing where there is no kernel for the device."""
        entry = self._catalog.entries[index]
        ref = self._ref(entry.kernels, device)
        if ref is not None and ref.path is not None:
            self._build_one(entry, ref, device)

    def _build_one(self, entry: CatalogEntry, ref: KernelRef, device: str) -> None:
        if ref.source is not None:
            self._build_generated(ref)
        elif self._is_new(ref):
            self._build_those([entry.kernels] if self._is_profiled else self._catalog.kernels, device)

    def devices(self, index: int) -> tuple[str, ...]:
        """Return the devices that one operator has kernels for.

        The CPU comes first, because its kernels are the easiest to build.
        """
        entry = self._catalog.entries[index]
        others = (ref.device for ref in entry.kernels if ref.device not in ("cpu", *TWINS))
        return (*(("cpu",) if self._ref(entry.kernels, "cpu") else ()), *others)

    def device_of(self, index: int, device: str) -> str | None:
        """Return the device whose kernel serves tensors on `device`, or None if no kernel does."""
        ref = self._ref(self._catalog.entries[index].kernels, device)
        return ref.device if ref else None

    def beside(self, device: str) -> KernelStore:
        """Return a store of the same kernels that prefers `device`, if it is a twin, for tensors on the CPU."""
        return KernelStore(
            self._catalog, self._root, self._cache, self._allow_outside, twin=device, manifest=self._manifest
        )

    def _uses(self, refs: Mapping[str, KernelRef], device: str) -> dict[str, list[Use]]:
        """Return, by source, the operators to call through an Ascend C source."""
        uses: dict[str, list[Use]] = {}
        for entry in self._catalog.entries:
            ref = self._ref(entry.kernels, device)
            if ref is not None and ref.path and ref.path in refs and ref.device in ASCEND_C and not ref.is_library:
                uses.setdefault(ref.path, []).append(_use(entry, ref))
        return uses

    def _advice(self, operator: str) -> str:
        """Return the command or call that examines an operator that crashes."""
        if self._manifest is None:
            return 'rows = opbridge.check.check(op, sanitize=["address"])'
        manifest = os.fsencode(self._manifest).decode(errors="replace")  # a folder name may not be valid text
        return f"opbridge check {manifest} --op {operator.partition('::')[2]} --sanitize address"

    def _ref(self, kernels: tuple[KernelRef, ...], device: str) -> KernelRef | None:
        by_device = {ref.device: ref for ref in kernels}
        if twin := SIMULATED.get(device):
            # Like a PyTorch operator, one without a kernel for the device falls back to the CPU kernel.
            return by_device.get(twin) or twinned(kernels, twin) or by_device.get(device) or by_device.get("cpu")
        if device != "cpu":
            return by_device.get(device)
        wanted = (by_device.get(twin) or twinned(kernels, twin) for twin in self._twins)
        offered = (by_device.get(name) for name in ("cpu", *TWINS))
        return next((ref for ref in (*wanted, *offered) if ref is not None), None)

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
            from opbridge.waist.manifest.yaml_reader import missing_file

            raise missing_file(path)
        if ref.is_library:
            elf.check_library(path)


def twinned(kernels: tuple[KernelRef, ...], twin: str) -> KernelRef | None:
    """Return the kernel for another device as a kernel of the twin, if its source is available."""
    ref = next((ref for ref in kernels if ref.device == TWINS[twin].of), None)
    return replace(ref, device=twin) if ref and ref.path and not ref.is_library else None


def with_twinned(op: OpSpec, twin: str) -> OpSpec:
    """Return the operator with the kernel that a twin runs, for callers that build before anything loads."""
    ref = None if op.kernel(twin) else twinned(op.kernels, twin)
    return replace(op, kernels=(*op.kernels, ref)) if ref else op


def _how_to_twin(twin: str) -> str:
    how = f'ob.load(..., device="{twin}"), or {TWINS[twin].variable}=1 in the environment'
    return f"\n  or run its {TWINS[twin].what} on the CPU: {how}"


def _use(entry: CatalogEntry, ref: KernelRef) -> Use:
    return Use(entry.name, entry.schema, _symbol(entry, ref), entry.launch)


def _symbol(entry: CatalogEntry, ref: KernelRef) -> str:
    return ref.symbol or entry.name.partition("::")[2]


def _opener(ref: KernelRef) -> Callable[[str, str, str], Kernel]:
    """Return the function that opens the library of a kernel, which depends on its calling convention."""
    if not ref.has_tvm_ffi_call:
        return load_kernel
    from opbridge.build.sources.tvm_ffi import load_function

    return load_function


def generated_file(ref: KernelRef, cache: Cache) -> Path:
    """Return the source of a formula's kernel as a file that compilers, debuggers and people can open."""
    return cache.keep(str(ref.path), str(ref.source))


def with_files(op: OpSpec, cache: Cache) -> OpSpec:
    """Return the operator with the kernels of its formula as files, for callers that copy sources.

    Raises:
        UnsupportedError: The operator has a formula and other kernels, which are in different places.
    """
    generated = [kernel for kernel in op.kernels if kernel.source is not None]
    if not generated:
        return op
    others = [kernel for kernel in op.kernels if kernel.source is None]
    if others:
        raise UnsupportedError(
            f"{op.schema.full_name} has a formula and kernels, which are in different places\n"
            "  write the formula's kernel into a file with `opbridge explain --source`, and name it under `kernels`"
        )
    return op.without_formula(cache.keep_files({str(kernel.path): str(kernel.source) for kernel in generated}))


def language_of(device: str) -> str:
    """Return the language of the sources of a device's kernels.

    Raises:
        UnsupportedError: opbridge does not build for the device.
    """
    if device not in LANGUAGES:
        raise UnsupportedError(
            f"this version does not build for {device}\n"
            f"  it does for {', '.join(LANGUAGES)}; build the kernel with your own compiler, and name its library: "
            f"`{device}: NAME.so:symbol`"
        )
    return LANGUAGES[device]


def source_request(
    root: Path, path: str, device: str, portable: bool = False, uses: AscendUses | None = None
) -> BuildRequest:
    """Return the build of one source of a library; `uses` names the operators of an Ascend C source.

    Raises:
        UnsupportedError: The source is CUDA and the device is the CPU, or the device is unknown.
    """
    language = language_of(device)
    if language == "c++" and path.endswith(".cu"):
        raise UnsupportedError(
            f"{path} is CUDA, which is not a kernel for the CPU; name it for `cuda`, or for `cuda-twin`"
        )
    request = BuildRequest(
        (root / path,),
        f"{Path(path).stem}.so",
        defines=toolchain_for(language).macros(),
        language=language,
        portable=portable,
        root=root,
    )
    if uses is None or not uses.bare:
        return request
    from opbridge.build.sources.ascend.host_code import with_hosts  # large libraries of other kernels do not need it

    return with_hosts(request, uses)
