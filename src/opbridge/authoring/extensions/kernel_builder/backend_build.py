"""The build of a kernel-builder project for one backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from opbridge.authoring.extensions.kernel_builder import cutlass
from opbridge.authoring.extensions.kernel_builder.project import BINDINGS, Part, Project
from opbridge.authoring.extensions.requests import request_for, with_twin
from opbridge.base.errors import InputError, UnsupportedError
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.interface import INCLUDE

BACKENDS = {"cpu": "cpu", "cuda": "cuda", "cuda-twin": "cuda"}
"""The backend whose kernels are compiled, for each device of an extension."""

_REGISTRATION = INCLUDE / "kernel_builder"
_HEADERS = "csrc"
"""The folder of a project that kernel-builder always searches for headers, whatever build.toml says."""


@dataclass(frozen=True)
class Extra:
    """The caller's additions to all sources."""

    cxx_flags: tuple[str, ...] = ()
    cuda_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()


def device_for(project: Project, asked: str | None, has_gpu: bool) -> str:
    """Return the device to run the project on: an existing GPU, else the CPU if it has kernels for it, else the twin.

    Raises:
        UnsupportedError: The project has no kernels for the requested device.
    """
    if asked is None:
        if "cuda" in project.backends and (has_gpu or "cpu" not in project.backends):
            return "cuda" if has_gpu else "cuda-twin"
        asked = "cpu"
    if asked not in BACKENDS:
        raise UnsupportedError(f"{asked!r} is not a device of an extension; there are {', '.join(BACKENDS)}")
    if BACKENDS[asked] not in project.backends:
        has = ", ".join(project.backends) or "none"
        raise UnsupportedError(f"{project.file} has no kernels for {BACKENDS[asked]}; its backends: {has}")
    return asked


def request(project: Project, device: str, extra: Extra) -> BuildRequest:
    """Return the build of a project for a device.

    Raises:
        InputError: Headers that the project needs are not installed.
    """
    backend = BACKENDS[device]
    parts = project.compiled_parts(backend)
    brought = extra.include_dirs or _brought(project, parts)
    namespace = project.namespace(backend)
    root = project.file.parent
    return request_for(
        namespace,
        [source for part in parts for source in part.sources],
        output=f"{namespace}.abi3.so",
        device=device,
        include_dirs=(
            *(folder for part in parts for folder in part.include_dirs),
            *_folders(root),
            *brought,
        ),
        defines=((f"{backend.upper()}_KERNEL", "1"),),
        flags=extra.cxx_flags,
        cuda_flags=extra.cuda_flags,
        link_flags=extra.link_flags,
        source_flags=[(source, _flags(part, source, with_twin(device))) for part in parts for source in part.sources],
        root=root,
    )


def _folders(root: Path) -> tuple[Path, ...]:
    return (root, root / _HEADERS, root / BINDINGS, _REGISTRATION)


def _flags(part: Part, source: Path, device: str) -> tuple[str, ...]:
    if source.suffix != ".cu":
        return part.cxx_flags
    if device == "cuda-twin":
        # Imported here because other builds would wait for it in vain.
        from opbridge.twins.cuda.torch_extension_sources import host_flags

        return host_flags(part.cuda_flags)
    return part.cuda_flags


def _brought(project: Project, parts: Sequence[Part]) -> tuple[Path, ...]:
    """Return the include folders that kernel-builder adds to the project's own."""
    needs = sorted({need for part in parts for need in part.needs})
    found = {need: cutlass.folders(need) for need in needs}
    missing = [need for need in needs if not found[need]]
    if missing:
        install = next(filter(None, map(cutlass.advice, missing)), None)
        named = "name the folder that they are in: extra_include_paths=FOLDER"
        raise InputError(
            f"{project.file} needs the headers of {' and '.join(missing)}, which are not in the project",
            hint=f"{install}, or {named}" if install else named,
        )
    return tuple(folder for folders in found.values() for folder in folders)
