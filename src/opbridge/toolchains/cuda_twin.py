"""The CUDA twin: the host's C++ compiler for `.cu` sources, with headers and a library of opbridge's own.

Each source is rewritten and compiled by one command (opbridge.twins.cuda.compiling).  The library is built once, by the
host toolchain; every kernel is linked with it, so that in one process they share the device, its memory and streams.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.cache import Cache
from opbridge.toolchains import host, rewriting, rewritten_headers, shipped
from opbridge.toolchains.builder import build
from opbridge.toolchains.model import INCLUDE, PROFILE, BuildRequest, Command, Commands
from opbridge.twins import cuda
from opbridge.twins.cuda import for_torch
from opbridge.twins.cuda.compiling import AS_NVCC_READS
from opbridge.twins.cuda.own_names import SEVERAL

_BINDINGS, _BINDINGS_FILE = INCLUDE.parent / "native" / "torch_bindings", "libopbridge_torch_bindings.so"

name = "CUDA twin"
suffixes = (".cu", *host.suffixes)
"""Sources beside a .cu that are C++ see the same device."""

CHECKS = "OPBRIDGE_TWIN_CHECKS"
"""The macro that a request defines to have its kernels checked as they run; where a user's environment says `0`, none
asks for it."""


def find() -> tuple[str, ...]:
    return host.find()


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    return (*host.identity(request, cache), rewriting.state("cuda"))


def commands(request: BuildRequest, folder: Path) -> Commands:
    checks = _has_checks(request)
    are_linked = request.one_of_several or len(request.sources) > 1
    several = ((SEVERAL, "1"),) if are_linked else ()
    own = tuple(path for path in request.include_dirs if not path.is_relative_to(INCLUDE))
    opbridge = tuple(f"-isystem{path}" for path in request.include_dirs if path.is_relative_to(INCLUDE))
    if checks and not _has(request, PROFILE):
        request = _without_level(request)
    prepared = replace(
        request,
        include_dirs=own,
        defines=(*(pair for pair in request.defines if pair[0] not in (CHECKS, PROFILE)), *several),
        source_flags=(*request.source_flags, *((source, _flags(request, source)) for source in request.sources)),
        flags=(*opbridge, *request.flags, *(for_torch.PRELUDE if request.library else ())),
        link_flags=(
            *cuda.link_flags(checks, profile_runtime() if _has(request, PROFILE) else runtime()),
            *(_bindings_flags() if _leaves_python_to_library(request) else ()),
            *(for_torch.link_flags() if request.library and checks and not _has(request, for_torch.DEVICE) else ()),
            *request.link_flags,
        ),
    )
    made = rewriting.commands("cuda", prepared, folder)
    return replace(made, link=_with_device_code_first(made, request.sources))


def _without_level(request: BuildRequest) -> BuildRequest:
    return replace(
        request,
        flags=cuda.without_level(request.flags),
        source_flags=tuple((source, cuda.without_level(flags)) for source, flags in request.source_flags),
        suffix_flags=tuple((suffix, cuda.without_level(flags)) for suffix, flags in request.suffix_flags),
    )


def _with_device_code_first(made: Commands, sources: Sequence[Path]) -> Command:
    """Of an inline function that bindings have too, without checks, the linker keeps what comes first."""
    objects = [str(depfile.with_suffix("")) for depfile in made.depfiles]
    in_order = sorted(zip(sources, objects, strict=True), key=lambda pair: pair[0].suffix != ".cu")
    argv = list(made.link.argv)
    first = argv.index(objects[0])
    argv[first : first + len(objects)] = [written for _, written in in_order]
    return replace(made.link, argv=tuple(argv))


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    return host.precompile(
        replace(request, flags=(*_flags(request, request.sources[0]), *request.flags)), header, target
    )


def _flags(request: BuildRequest, source: Path) -> tuple[str, ...]:
    before_torch: tuple[str, ...] = ()
    if torch := request.library:
        before_torch = (f"-isystem{for_torch.INCLUDE}", *rewritten_headers.of_torch(torch.folder, torch.identity))
    binds = source in request.bindings
    own = cuda.flags(_has_checks(request) and not binds, host.is_clang(), _has(request, PROFILE))
    names = () if host.is_clang() or source.suffix != ".cu" else AS_NVCC_READS
    return (*before_torch, *own, *names, *rewritten_headers.of_cccl(), *(("-O0",) if binds else ()))


def _leaves_python_to_library(request: BuildRequest) -> bool:
    headers = request.library.binding_headers if request.library else None
    return headers is not None and headers.leaves_python_to_library


def _bindings_flags() -> tuple[str, ...]:
    library = build(bindings_request()).path
    return (str(library), f"-Wl,-rpath,{library.parent}")


def bindings_request() -> BuildRequest:
    """The library that knows Python, for sources which only say of which types their functions are."""
    return BuildRequest(
        sources=(_BINDINGS / "bindings.cpp",),
        output=_BINDINGS_FILE,
        title="the library of Python bindings",
        link_flags=(f"-Wl,-soname,{_BINDINGS_FILE}",),
        portable=True,
    )


def _has_checks(request: BuildRequest) -> bool:
    return _has(request, CHECKS)


def _has(request: BuildRequest, macro: str) -> bool:
    return any(name == macro for name, _ in request.defines)


def runtime() -> Path:
    """The library that every kernel is linked with; in a process that is profiled the one that counts, so that there
    are no two devices."""
    return profile_runtime() if os.environ.get(PROFILE) else shipped.library(runtime_request())


def profile_runtime() -> Path:
    """The same for kernels that are profiled."""
    return shipped.library(profile_runtime_request())


def library(name: str, twin: Path | None = None) -> Path:
    """One of NVIDIA's libraries as the twin has it, linked with the twin's own, which who has it need not look for."""
    return shipped.library(library_request(name, twin))


def runtime_request() -> BuildRequest:
    return rewriting.runtime_request(cuda.RUNTIME, cuda.LIBRARY, (cuda.INCLUDE,), ("-g1",), "the CUDA twin's library")


def profile_runtime_request() -> BuildRequest:
    plain = runtime_request()
    return replace(
        plain,
        sources=(*plain.sources, *sorted(cuda.PROFILING.glob("*.cpp"))),
        output=cuda.PROFILE_LIBRARY,
        title="the CUDA twin's library that counts",
        include_dirs=(*plain.include_dirs, cuda.PROFILING),
        defines=((PROFILE, "1"),),
        link_flags=tuple(word.replace(cuda.LIBRARY, cuda.PROFILE_LIBRARY) for word in plain.link_flags),
    )


def library_request(name: str, twin: Path | None = None) -> BuildRequest:
    file = f"libopbridge_{name}_twin.so"
    return BuildRequest(
        sources=tuple(sorted(cuda.LIBRARIES.glob(f"{name}*.cpp"))),
        output=file,
        title=f"the CUDA twin's {name}",
        include_dirs=(cuda.LIBRARIES, cuda.INCLUDE),
        link_flags=(*cuda.link_flags(False, twin or runtime()), *rewriting.named(file)),
        portable=True,
    )
