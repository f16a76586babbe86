"""Build a wheel from a manifest: kernels for several processors, and a package around them."""

from __future__ import annotations

import keyword
import os
import posixpath
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.authoring.wheel import adapters, python_code
from opbridge.authoring.wheel.archive import Metadata, write_wheel
from opbridge.authoring.wheel.import_check import import_wheel
from opbridge.authoring.wheel.installed import ADAPTERS, KERNELS
from opbridge.authoring.wheel.platform import Needs, platform_tag
from opbridge.authoring.wheel.requirements import requirements
from opbridge.authoring.wheel.variants import Variant, variants
from opbridge.base.errors import InputError
from opbridge.base.names import is_identifier, is_special
from opbridge.build.cache import Cache
from opbridge.build.sources import elf
from opbridge.build.sources.elf_image import Image
from opbridge.build.sources.store import source_request, with_files
from opbridge.build.toolchains import BuildRequest, build_many
from opbridge.build.toolchains.build_plan import prepared
from opbridge.frameworks import FRAMEWORKS
from opbridge.waist.manifest import KernelRef, Manifest, OpSpec

_SUMMARY_NAMES = 5


@dataclass(frozen=True)
class Order:
    """The options of one wheel."""

    manifest: Path
    version: str
    name: str | None = None
    """The package name; by default the manifest namespace."""
    license: str | None = None
    license_files: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    adapters_for: tuple[str, ...] = ()
    """The Python interpreters of the environments to include PyTorch adapters for."""


@dataclass(frozen=True)
class Made:
    """A wheel or hub kernel that was written."""

    path: Path
    kernels: dict[str, tuple[str, ...]]
    """The sources and libraries in it, by their path in the manifest, and the processors that each has a copy for."""
    adapters: tuple[str, ...]
    notes: tuple[str, ...]
    """Remarks for the author, such as kernels that were left out."""


@dataclass(frozen=True)
class Package:
    """The contents that install the operators, independent of the archive format."""

    name: str
    metadata: Metadata
    platform: str
    """The platform tag of wheels: manylinux_2_28_x86_64, or any."""
    contents: dict[str, bytes]
    kernels: dict[str, tuple[str, ...]]
    adapters: tuple[str, ...]
    notes: tuple[str, ...]

    def made(self, path: Path) -> Made:
        """Return the description of this package, written to `path`."""
        return Made(path, self.kernels, self.adapters, self.notes)


def make_wheel(order: Order, folder: Path, cache: Cache) -> Made:
    """Build the ordered wheel in `folder`; check first that its package can be imported."""
    package = assemble(order, cache)
    files = {f"{package.name}/{place}": data for place, data in package.contents.items()}
    tag = f"py3-none-{package.platform}"
    path = write_wheel(folder, package.metadata, tag, files, lambda wheel: import_wheel(wheel, package.name, cache))
    return package.made(path)


def assemble(order: Order, cache: Cache) -> Package:
    """Build the kernels and adapters of an order and return the contents of its package.

    Raises:
        InputError: The manifest declares no operators, or the order cannot become a package.
    """
    manifest = Manifest.load(order.manifest)
    if not manifest.ops:
        raise InputError(f"{order.manifest} declares no operators", hint="a wheel needs at least one")
    ops = tuple(_kept(with_files(op, cache), order.devices) for op in manifest.ops)
    names = python_code.function_names(ops)
    # Report mistakes in names and metadata before anything is compiled.
    name, metadata = _package_name(order.name or manifest.namespace), _metadata(order, manifest.namespace, names)
    libraries = _libraries(ops, cache)
    brought = dict(adapters.build_for(python, cache) for python in order.adapters_for)
    files = {f"{KERNELS}/{place}": path for place, path in libraries.items()}
    files |= {f"{KERNELS}/{ADAPTERS}/{name}": path for name, path in brought.items()}
    needs = {place: Needs.of(path) for place, path in files.items()}
    contents = {place: path.read_bytes() for place, path in files.items()}
    for variant in variants():
        placed = (replace(op, kernels=tuple(_placed(kernel, variant) for kernel in op.kernels)) for op in ops)
        contents[f"{KERNELS}/{variant.manifest}"] = str(replace(manifest, ops=tuple(placed))).encode()
    contents["__init__.py"] = python_code.module(manifest.namespace, order.version, names).encode()
    contents["__init__.pyi"] = python_code.stub(manifest.namespace, names).encode()
    contents["py.typed"] = b""
    return Package(
        name=name,
        metadata=replace(metadata, requires=requirements(libraries.values())),
        platform=platform_tag(needs.values()),
        contents=contents,
        kernels={
            kernel.path: tuple(variant.name for variant in _variants(kernel) if variant is not None)
            for op in ops
            for kernel in op.kernels
            if kernel.path is not None
        },
        adapters=tuple(brought),
        notes=(*_left_out(manifest.ops, order.devices), *_not_brought(needs)),
    )


def _package_name(name: str) -> str:
    package = name.replace("-", "_").replace(".", "_")
    taken = {
        "opbridge",
        *sys.stdlib_module_names,
        *(p for framework in FRAMEWORKS.values() for p in framework.packages),
    }
    if not is_identifier(package) or is_special(package) or keyword.iskeyword(package) or package in taken:
        raise InputError(f"'{name}' cannot be imported as a package of its own", hint="name it with --name")
    return package


def _metadata(order: Order, namespace: str, names: Iterable[str]) -> Metadata:
    shown = list(names)
    more = ["..."] if len(shown) > _SUMMARY_NAMES else []
    return Metadata(
        name=order.name or namespace,
        version=order.version,
        summary=f"Tensor operators: {', '.join((*shown[:_SUMMARY_NAMES], *more))}",
        requires_python=">=3.10",
        requires=(),
        license=order.license,
        license_files=order.license_files,
    )


def _kept(op: OpSpec, devices: tuple[str, ...]) -> OpSpec:
    """Return the operator with only the kernels for these devices; raise InputError if none is left."""
    kernels = tuple(kernel for kernel in op.kernels if kernel.operator or kernel.device in devices)
    if not kernels:
        have = ", ".join(kernel.device for kernel in op.kernels)
        raise InputError(
            f"{op.schema.full_name} has a kernel for {have} alone, and the wheel is for {' and '.join(devices)}",
            op.where,
            "give it a kernel for the CPU, or make the wheel with --device cuda where it has one for that",
        )
    return replace(op, kernels=kernels)


def _libraries(ops: tuple[OpSpec, ...], cache: Cache) -> dict[str, Path]:
    """Return every library of the wheel, keyed by its path below the manifests."""
    found: dict[str, Path] = {}
    first: dict[str, BuildRequest] = {}
    later: dict[str, BuildRequest] = {}
    for op in ops:
        for kernel in op.kernels:
            if kernel.path is None:
                continue
            path = op.file(kernel)
            for variant in _variants(kernel):
                place = _place(kernel, variant)
                if kernel.is_library:
                    _check_library(path)
                    found[place] = path
                elif place not in first and place not in later:
                    batch = first if variant in (None, variants()[-1]) else later
                    batch[place] = _request(op, kernel, variant)
    # Build for one processor first, so that a mistake in a source is reported once.
    for batch in (first, later):
        built = build_many(list(batch.values()), cache)
        found |= {place: library.path for place, library in zip(batch, built, strict=True)}
    return found


def _check_library(path: Path) -> None:
    elf.check_library(path)
    machine, here = Image(path).machine, os.uname().machine
    if machine != here:
        raise InputError(f"{path} is built for {machine}, and a wheel made here is for {here}", hint="make it there")


def _variants(kernel: KernelRef) -> tuple[Variant | None, ...]:
    """Return the processors to build a separate kernel library for; None means all processors."""
    return variants() if kernel.device == "cpu" and not kernel.is_library else (None,)


def _request(op: OpSpec, kernel: KernelRef, variant: Variant | None) -> BuildRequest:
    """Return the build of a kernel for one processor, with the C++ library linked statically.

    A distribution where the wheel is installed may have an older C++ library. Raise InputError if the kernel
    includes PyTorch headers.
    """
    request = source_request(op.root or Path(), kernel.path or "", kernel.device)
    if prepared(request).library is not None:
        raise InputError(
            f"{kernel.path} includes PyTorch's headers, so it would run with only one version of PyTorch",
            op.where,
            "write it on opbridge/kernel.h, or name PyTorch's own operator: `cpu: aten::NAME`",
        )
    # libgcc_s stays shared: every system includes it, and the unwinder in a new static one needs a new glibc.
    private = "-static-libstdc++"
    hidden = "-Wl,--exclude-libs,ALL"
    if variant is None:
        # nvcc puts its process number into the names of unneeded symbols; stripping keeps the build reproducible.
        return replace(request, link_flags=("-Xcompiler", private, hidden, "-Wl,--strip-all"), portable=True)
    # Debug information would name the folder that the author built in.
    return replace(request, flags=(*variant.flags, "-g0"), link_flags=(private, hidden), portable=True)


def _placed(kernel: KernelRef, variant: Variant) -> KernelRef:
    if kernel.path is None:
        return kernel
    return replace(kernel, path=_place(kernel, variant if variant in _variants(kernel) else None))


def _place(kernel: KernelRef, variant: Variant | None) -> str:
    """Return the path of a kernel library, below the manifests."""
    path = posixpath.normpath(kernel.path or "")
    if kernel.is_library:
        return f"libraries/{path}"
    # Keep the suffix of the source: k.cpp and k.cc become two libraries.
    return f"{variant.name if variant else kernel.device}/{path}.so"


def _left_out(ops: Iterable[OpSpec], devices: tuple[str, ...]) -> Iterator[str]:
    paths = dict.fromkeys((kernel.path, kernel.device) for op in ops for kernel in op.kernels)
    for path, device in paths:
        if path is not None and device not in devices:
            hint = "; --device cuda adds it" if device == "cuda" else ""
            yield f"{path}  left out: it is for {device}{hint}"


def _not_brought(needs: dict[str, Needs]) -> Iterator[str]:
    for place, need in needs.items():
        if need.strangers:
            yield f"{place} needs {', '.join(need.strangers)}, not in the wheel: it must exist where the wheel runs"
