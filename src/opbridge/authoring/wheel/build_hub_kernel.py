"""Build a kernel for the Hugging Face hub from a manifest or a kernel-builder project.

This implements `opbridge wheel --format kernels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from opbridge.authoring.extensions.kernel_builder.backend_build import Extra, request
from opbridge.authoring.extensions.kernel_builder.imported_package import OPERATORS, operators_text
from opbridge.authoring.extensions.kernel_builder.project import FILE, Project, load
from opbridge.authoring.wheel.build_wheel import Made, Order, assemble
from opbridge.authoring.wheel.hub import HubKernel, write_kernel
from opbridge.authoring.wheel.import_check import import_package
from opbridge.base.errors import InputError, UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.torch_install import OLDEST, TorchInstall

_BACKEND = "cpu"
_LIMITED_API = ("Py_LIMITED_API", "0x030A0000")
"""The limited API of the oldest Python that PyTorch supports, so that one library serves all versions."""


def make_kernel(order: Order, folder: Path, cache: Cache) -> Made:
    """Build the ordered kernel and write it below `folder`; check first that its package can be imported.

    Raises:
        UnsupportedError: The order is for another device than the CPU.
    """
    if order.devices != (_BACKEND,):
        raise UnsupportedError("--format kernels writes kernels for the CPU; --device cuda goes with wheels")
    if order.manifest.name == FILE:
        return _of_project(order, folder, cache)
    package = assemble(order, cache)
    # opbridge connects its kernels to any installed PyTorch.
    framework = _stable(".".join(map(str, OLDEST)))
    kernel = _kernel(order, package.metadata.name, framework, package.contents)
    path = write_kernel(folder, kernel, lambda place: import_package(place, kernel.package, cache))
    note = "its users need opbridge: pip install opbridge"
    return replace(package.made(path), notes=(*package.notes, note))


def _of_project(order: Order, folder: Path, cache: Cache) -> Made:
    project = load(order.manifest.absolute())
    namespace = project.namespace(_BACKEND)
    contents = {
        path.relative_to(project.package).as_posix(): path.read_bytes()
        for suffix in project.python_suffixes
        for path in sorted(project.package.rglob(f"*.{suffix}"))
    }
    framework = "torch"
    if project.is_compiled:
        stable = project.stable.get(_BACKEND)
        library = build(_portable(request(project, _BACKEND, Extra()), stable), cache).path
        contents[library.name] = library.read_bytes()
        framework = _stable(stable) if stable else _this_torch()
    contents[f"{OPERATORS}.py"] = operators_text(namespace, namespace if project.is_compiled else "").encode()
    kernel = _kernel(order, project.name, framework, contents, project)
    path = write_kernel(folder, kernel, lambda place: import_package(place, kernel.package, cache))
    sources = {source.name: () for part in project.compiled_parts(_BACKEND) for source in part.sources}
    note = "" if framework != _this_torch() else f"it is for this PyTorch alone: {kernel.variant}"
    return Made(path, dict(sources), (), tuple(filter(None, [note])))


def _kernel(
    order: Order, name: str, framework: str, files: Mapping[str, bytes], project: Project | None = None
) -> HubKernel:
    return HubKernel(
        name=(order.name or name).lower().replace("_", "-"),
        framework=framework,
        backend=_BACKEND,
        version=project.version if project else _major(order.version),
        license=order.license or (project.license if project else None),
        python_needs=project.python_needs if project else (),
        files=files,
    )


def _portable(wanted: BuildRequest, stable: str | None) -> BuildRequest:
    """Return the request for all Python versions, and for all PyTorch versions if the sources use its stable ABI."""
    target = [("TORCH_TARGET_VERSION", _target(stable))] if stable else []
    return replace(wanted, defines=(*wanted.defines, _LIMITED_API, *target), portable=True)


def _target(version: str) -> str:
    """Return the version as the PyTorch headers compare it."""
    major, minor = map(int, version.split("."))
    return f"0x{major << 56 | minor << 48:016x}"


def _stable(version: str) -> str:
    return f"torch-stable-abi{version.replace('.', '')}"


def _this_torch() -> str:
    major, minor = TorchInstall.found().version.split(".")[:2]
    return f"torch{major}{minor}-cxx11"


def _major(version: str) -> int:
    """Return the major version: the hub counts versions by one number."""
    number = version.partition(".")[0]
    if not number.isdigit():
        raise InputError(f"a kernel of the hub has a number for its version, not {version!r}", hint="as in --version 2")
    return int(number)
