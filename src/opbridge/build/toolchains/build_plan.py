"""The plan of one build: what to compile, with which toolchain, in which variant, under which cache key.

A request becomes a plan once.  Later stages return changed plans: `precompiled_headers` and `kernel_parts` choose a
variant before the first command runs, and choose another one if that does not compile.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.cache import Cache, Key, KeyBuilder
from opbridge.build.toolchains.interface import COMPATIBLE, INCLUDE, VECTOR, BuildRequest, Toolchain
from opbridge.build.toolchains.table import toolchain_for


@dataclass(frozen=True)
class BuildPlan:
    """Everything that is decided about a build before a command runs."""

    request: BuildRequest
    """What was asked for, with absolute paths and with the flags for PyTorch."""
    toolchain: Toolchain
    key: Key
    variant: BuildRequest
    """The request as it is compiled, with the flags for faster headers or shared parts."""
    headers: tuple[Path, ...] = ()
    """The precompiled headers, which the compiler reads first; NAME.d next to each lists its inputs."""
    slim: tuple[Path, ...] = ()
    """The sources that use slim headers.  If one of them does not compile, the full headers may help."""
    parts: Path | None = None
    """The header whose shared parts the kernel is linked with."""

    @property
    def places(self) -> dict[str, Path]:
        """The folders whose location does not affect the result."""
        return {"project": self.request.project, "opbridge": INCLUDE}

    def with_request(self, request: BuildRequest) -> BuildPlan:
        """Return a plan for a changed request with the full headers and without shared parts."""
        return BuildPlan(request, self.toolchain, self.key, request)


def planned(request: BuildRequest, cache: Cache) -> BuildPlan:
    """Return the plan of a build, before any choice of headers.

    Raises:
        OpbridgeError: The sources do not exist, or no compiler was found.
    """
    toolchain = toolchain_for(request.language)
    request = prepared(request)
    return BuildPlan(request, toolchain, _key(request, toolchain, cache), request)


def prepared(request: BuildRequest) -> BuildRequest:
    """Return the request with absolute paths and, if its sources need them, the flags for PyTorch.

    Raises:
        InputError: A source does not exist, or the toolchain does not compile such files.
    """
    from opbridge.build.toolchains.torch_sources import with_torch

    request = absolute(request)
    _check_sources(request, toolchain_for(request.language))
    return with_torch(request)


def absolute(request: BuildRequest) -> BuildRequest:
    """Return the request with absolute paths and opbridge's include folders, as a toolchain expects it."""

    def full(path: Path) -> Path:
        return Path(os.path.abspath(path))

    sources = tuple(map(full, request.sources))
    return replace(
        request,
        sources=sources,
        include_dirs=(*map(full, request.include_dirs), INCLUDE, VECTOR, COMPATIBLE),
        root=full(request.root) if request.root else replace(request, sources=sources).project,
    )


def _check_sources(request: BuildRequest, toolchain: Toolchain) -> None:
    for source in request.sources:
        if source.suffix not in toolchain.suffixes:
            raise InputError(
                f"{source}: the {toolchain.name} compiler takes {', '.join(toolchain.suffixes)}, "
                f"not {source.suffix or 'a name without a suffix'}",
                hint="rename the file, or choose the device it is for",
            )
        if not source.is_file():
            raise InputError(f"{source}: no such file", hint=f"it was to be compiled into {request.output}")


def _key(request: BuildRequest, toolchain: Toolchain, cache: Cache) -> Key:
    """Return the cache key: everything known about a build before it starts."""
    anywhere = _anywhere(request)
    commands = toolchain.commands(anywhere, Path("@build"))
    key = KeyBuilder("library").add("language", request.language)
    key.add("toolchain", *toolchain.identity(request, cache))
    for command in (*commands.compiles, commands.link):
        key.add("command", *command.argv)
    for path, text in commands.texts:
        key.add("text", str(path), text)
    for source, name in zip(request.sources, anywhere.sources, strict=True):
        key.add("source", str(name), source)
    if request.library:
        key.add("library", *request.library.identity)
    return key.add("abi", INCLUDE / "opbridge" / "abi.h").key()


def _anywhere(request: BuildRequest) -> BuildRequest:
    """Return the request with project-relative paths, so that copies of the project elsewhere get the same key."""

    def moved(path: Path) -> Path:
        for name, folder in (("@opbridge", INCLUDE), ("@project", request.project)):
            if path.is_relative_to(folder):
                return name / path.relative_to(folder)
        return path

    return replace(
        request,
        sources=tuple(map(moved, request.sources)),
        bindings=tuple(map(moved, request.bindings)),
        source_flags=tuple((moved(source), flags) for source, flags in request.source_flags),
        include_dirs=tuple(map(moved, request.include_dirs)),
        root=Path("@project"),
    )
