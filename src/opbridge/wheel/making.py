"""From a manifest to a wheel: kernels built for several processors, and a package around them."""

from __future__ import annotations

import keyword
import os
import posixpath
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge._version import __version__
from opbridge.cache import Cache
from opbridge.errors import InputError
from opbridge.frameworks import FRAMEWORKS
from opbridge.manifest import KernelRef, Manifest, OpSpec
from opbridge.names import is_identifier, is_special
from opbridge.sources import elf
from opbridge.sources.elf_image import Image
from opbridge.sources.store import source_request, with_files
from opbridge.toolchains import BuildRequest, build_many
from opbridge.toolchains.builder import absolute
from opbridge.toolchains.torch_sources import with_torch
from opbridge.wheel import adapters, python_code
from opbridge.wheel.archive import Metadata, write_wheel
from opbridge.wheel.installed import ADAPTERS, KERNELS
from opbridge.wheel.platform import Needs, platform_tag
from opbridge.wheel.trying import import_wheel
from opbridge.wheel.variants import Variant, variants

_SUMMARY_NAMES = 5


@dataclass(frozen=True)
class Order:
    """What somebody wants a wheel of."""

    manifest: Path
    version: str
    name: str | None = None
    """Of the package, by default the manifest's namespace."""
    license: str | None = None
    license_files: tuple[Path, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    adapters_for: tuple[str, ...] = ()
    """The Pythons of the environments whose PyTorch adapters come along."""


@dataclass(frozen=True)
class Made:
    path: Path
    kernels: dict[str, tuple[str, ...]]
    """The sources and libraries that are in it, as the manifest has them, and the processors there is a copy for."""
    adapters: tuple[str, ...]
    notes: tuple[str, ...]
    """What its author should know about it."""


@dataclass(frozen=True)
class Package:
    """What installs the operators, in whatever form it travels."""

    name: str
    metadata: Metadata
    platform: str
    """As wheels name it: manylinux_2_28_x86_64, or any."""
    contents: dict[str, bytes]
    kernels: dict[str, tuple[str, ...]]
    adapters: tuple[str, ...]
    notes: tuple[str, ...]

    def made(self, path: Path) -> Made:
        return Made(path, self.kernels, self.adapters, self.notes)


def make_wheel(order: Order, folder: Path, cache: Cache) -> Made:
    package = assemble(order, cache)
    files = {f"{package.name}/{place}": data for place, data in package.contents.items()}
    tag = f"py3-none-{package.platform}"
    path = write_wheel(folder, package.metadata, tag, files, lambda wheel: import_wheel(wheel, package.name, cache))
    return package.made(path)


def assemble(order: Order, cache: Cache) -> Package:
    manifest = Manifest.load(order.manifest)
    if not manifest.ops:
        raise InputError(f"{order.manifest} declares no operators", hint="a wheel needs at least one")
    ops = tuple(_kept(with_files(op, cache), order.devices) for op in manifest.ops)
    names = python_code.function_names(ops)
    # What is wrong with them is told before anything is compiled.
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
        metadata=metadata,
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
        requires=(f"opbridge>={__version__}",),
        license=order.license,
        license_files=order.license_files,
    )


def _kept(op: OpSpec, devices: tuple[str, ...]) -> OpSpec:
    """The operator with the kernels that a wheel for these devices has."""
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
    """Every library of the wheel, by its place below the manifests."""
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
    # A mistake in a source is told once, and not for every processor.
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
    """The processors that there is a copy of the kernel's library for; None stands for all."""
    return variants() if kernel.device == "cpu" and not kernel.is_library else (None,)


def _request(op: OpSpec, kernel: KernelRef, variant: Variant | None) -> BuildRequest:
    """Whatever the C++ compiler, its library comes along: another distribution's may be older."""
    request = source_request(op.root or Path(), kernel.path or "", kernel.device)
    if with_torch(absolute(request)).library is not None:
        raise InputError(
            f"{kernel.path} includes PyTorch's headers, so it would run with one version of PyTorch alone",
            op.where,
            "write it on opbridge/kernel.h, or name PyTorch's own operator: `cpu: aten::NAME`",
        )
    # libgcc_s stays shared: it is everywhere, and the unwinder in a new static one wants a new glibc.
    private = "-static-libstdc++"
    hidden = "-Wl,--exclude-libs,ALL"
    if variant is None:
        # nvcc puts the number of its process into the names of symbols that nobody needs.
        return replace(request, link_flags=("-Xcompiler", private, hidden, "-Wl,--strip-all"), portable=True)
    # Debug information would name the folder that the author built in.
    return replace(request, flags=(*variant.flags, "-g0"), link_flags=(private, hidden), portable=True)


def _placed(kernel: KernelRef, variant: Variant) -> KernelRef:
    if kernel.path is None:
        return kernel
    return replace(kernel, path=_place(kernel, variant if variant in _variants(kernel) else None))


def _place(kernel: KernelRef, variant: Variant | None) -> str:
    """Where a kernel's library lies, below the manifests."""
    path = posixpath.normpath(kernel.path or "")
    if kernel.is_library:
        return f"libraries/{path}"
    # Of k.cpp and k.cc there are two libraries.
    return f"{variant.name if variant else kernel.device}/{path}.so"


def _left_out(ops: Iterable[OpSpec], devices: tuple[str, ...]) -> Iterator[str]:
    paths = dict.fromkeys((kernel.path, kernel.device) for op in ops for kernel in op.kernels)
    for path, device in paths:
        if path is not None and device not in devices:
            hint = "; --device cuda brings it" if device == "cuda" else ""
            yield f"{path}  left out: it is for {device}{hint}"


def _not_brought(needs: dict[str, Needs]) -> Iterator[str]:
    for place, need in needs.items():
        if need.strangers:
            yield f"{place} needs {', '.join(need.strangers)}, which is not in the wheel: it has to be where it runs"
