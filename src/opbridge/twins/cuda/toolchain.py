"""The CUDA twin: the host C++ compiler for `.cu` sources, with opbridge's own headers and library.

One command rewrites and compiles each source (opbridge.twins.cuda.compiler_command). The host toolchain builds the
library once. Every kernel is linked with it, so that the kernels of one process share the device, its memory
and its streams.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains import host
from opbridge.build.toolchains.builder import build
from opbridge.build.toolchains.interface import INCLUDE, PROFILE, BuildRequest, Command, Commands
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.twins import cuda
from opbridge.twins.common import toolchain as rewriting
from opbridge.twins.cuda import rewritten_headers, torch_extension_sources
from opbridge.twins.cuda.compiler_command import AS_NVCC_READS, PRELUDE
from opbridge.twins.cuda.unique_symbols import SEVERAL

_BINDINGS, _BINDINGS_FILE = INCLUDE.parent / "native" / "torch_bindings", "libopbridge_torch_bindings.so"

name = "CUDA twin"
suffixes = (".cu", *host.suffixes)
"""The C++ sources of a library see the same device as its .cu sources."""

CHECKS = "OPBRIDGE_TWIN_CHECKS"
"""The macro that a request defines to have its kernels checked as they run.

No request defines it if the environment variable of this name is `0`."""


def find() -> tuple[str, ...]:
    """Return the command of the host C++ compiler."""
    return host.find()


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    """Return the identity of the host compiler and a digest of the code that rewrites the sources."""
    return (*host.identity(request, cache), rewriting.state("cuda"))


def commands(request: BuildRequest, folder: Path) -> Commands:
    """Return the commands that rewrite, compile and link the sources with the twin headers and library.

    The macros CHECKS and PROFILE in the request select checked and profiled kernels.
    """
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
        flags=(*opbridge, *request.flags, *(torch_extension_sources.PRELUDE if request.library else ())),
        link_flags=(
            *cuda.link_flags(checks, profile_runtime() if _has(request, PROFILE) else runtime()),
            *(_bindings_flags() if _leaves_python_to_library(request) else ()),
            *(
                torch_extension_sources.link_flags()
                if request.library and checks and not _has(request, torch_extension_sources.DEVICE)
                else ()
            ),
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
    """Return the link command with the .cu objects first.

    The linker keeps the first copy of an inline function. Bindings are compiled without checks, so theirs must not
    win.
    """
    objects = [str(depfile.with_suffix("")) for depfile in made.depfiles]
    in_order = sorted(zip(sources, objects, strict=True), key=lambda pair: pair[0].suffix != ".cu")
    argv = list(made.link.argv)
    first = argv.index(objects[0])
    argv[first : first + len(objects)] = [written for _, written in in_order]
    return replace(made.link, argv=tuple(argv))


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    """Return the host compiler's command to precompile `header` with the twin flags.

    Counting changes no header of a library, so one header serves checked and profiled kernels.
    """
    request = replace(request, defines=tuple(define for define in request.defines if define[0] != PROFILE))
    return host.precompile(
        replace(request, flags=(*_flags(request, request.sources[0]), *request.flags)), header, target
    )


def macros() -> tuple[tuple[str, str], ...]:
    """Return the macros of checked or profiled kernels, or none where the environment turns checks off."""
    if os.environ.get(PROFILE):
        return ((CHECKS, "1"), (PROFILE, "1"))
    return () if os.environ.get(CHECKS) == "0" else ((CHECKS, "1"),)


def companions() -> tuple[Path, ...]:
    """Return the simulator that kernels are linked with."""
    return (runtime(),)


def sources_for_torch(texts: Sequence[str]) -> tuple[Path, ...]:
    """Return the sources that define what these texts call and only a GPU build of PyTorch has."""
    return tuple(torch_extension_sources.shims(texts))


def as_edited(source: Path, command: Command) -> tuple[str, ...]:
    """Return the compiler's own command for the source, with the header that comes before it."""
    rewritten_headers.rewrite_those_of(source)
    # A shared variable is rewritten to other C++ before the compiler sees it.
    return rewriting.as_edited(source, command, "-D__shared__=static", "-include", PRELUDE)


def _flags(request: BuildRequest, source: Path) -> tuple[str, ...]:
    before_torch: tuple[str, ...] = ()
    if torch := request.library:
        before_torch = (
            f"-isystem{torch_extension_sources.INCLUDE}",
            *rewritten_headers.of_torch(torch.folder, torch.identity),
        )
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
    """Return the build request for the library that registers functions with Python.

    Sources that only state the types of their functions are linked with it.
    """
    return BuildRequest(
        sources=(_BINDINGS / "bindings.cpp",),
        output=_BINDINGS_FILE,
        title="the library of Python bindings",
        link_flags=(f"-Wl,-soname,{_BINDINGS_FILE}",),
        portable=True,
        built_for=TorchInstall.found().built_for,
    )


def _has_checks(request: BuildRequest) -> bool:
    return _has(request, CHECKS)


def _has(request: BuildRequest, macro: str) -> bool:
    return any(name == macro for name, _ in request.defines)


def runtime() -> Path:
    """Return the library that every kernel is linked with.

    In a profiled process it is the counting library, so that the process has one simulated device and not two.
    """
    return profile_runtime() if os.environ.get(PROFILE) else build(runtime_request()).path


def profile_runtime() -> Path:
    """Return the library that profiled kernels are linked with."""
    return build(profile_runtime_request()).path


def library(name: str, twin: Path | None = None) -> Path:
    """Return the twin's version of an NVIDIA library such as cuBLAS.

    It is already linked with the twin's own library, so its users need not find that one.
    """
    return build(library_request(name, twin)).path


def runtime_request() -> BuildRequest:
    """Return the build request for the library that every kernel is linked with."""
    return rewriting.runtime_request(cuda.RUNTIME, cuda.LIBRARY, (cuda.INCLUDE,), ("-g1",), "the CUDA twin's library")


def profile_runtime_request() -> BuildRequest:
    """Return the build request for the library that profiled kernels are linked with."""
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
    """Return the build request for the twin's version of an NVIDIA library."""
    file = f"libopbridge_{name}_twin.so"
    return BuildRequest(
        sources=tuple(sorted((cuda.LIBRARIES / name).glob("*.cpp"))),
        output=file,
        title=f"the CUDA twin's {name}",
        include_dirs=(cuda.LIBRARIES, cuda.INCLUDE),
        link_flags=(*cuda.link_flags(False, twin or runtime()), *rewriting.named(file)),
        portable=True,
        built_for=(),
    )
