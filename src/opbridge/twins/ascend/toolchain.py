"""The Ascend C twin: the host C++ compiler with opbridge's own headers and library, for NPU kernels.

One command rewrites and compiles each source (opbridge.twins.ascend.compiler_command). The host toolchain builds the
library once. Every kernel is linked with it, so that the kernels of one process share memory and reports. The
checks are switched on or off at each launch: `OPBRIDGE_TWIN_CHECKS=0` in the environment turns them off.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains import host
from opbridge.build.toolchains.builder import build
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, Command, Commands
from opbridge.twins import ascend
from opbridge.twins.ascend.compiler_command import PRELUDE
from opbridge.twins.common import toolchain as rewriting

name = "Ascend C twin"
suffixes = (".asc", *host.suffixes)


def find() -> tuple[str, ...]:
    """Return the command of the host C++ compiler."""
    return host.find()


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    """Return the identity of the host compiler and a digest of the code that rewrites the sources."""
    return (*host.identity(request, cache), rewriting.state("ascend"))


def commands(request: BuildRequest, folder: Path) -> Commands:
    """Return the commands that rewrite, compile and link the sources with the twin headers and library."""
    prepared = replace(
        request,
        flags=(*_flags(request), *request.flags),
        link_flags=(*ascend.link_flags(runtime()), *request.link_flags),
    )
    return rewriting.commands("ascend", prepared, folder)


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    """Return the host compiler's command to precompile `header` with the twin flags."""
    return host.precompile(replace(request, flags=(*_flags(request), *request.flags)), header, target)


macros, sources_for_torch = host.macros, host.sources_for_torch


def companions() -> tuple[Path, ...]:
    """Return the simulator that kernels are linked with."""
    return (runtime(),)


def as_edited(source: Path, command: Command) -> tuple[str, ...]:
    """Return the compiler's own command for the source, with the header that comes before it."""
    return rewriting.as_edited(source, command, "-include", PRELUDE)


def _flags(request: BuildRequest) -> tuple[str, ...]:
    # The types and variables of a library's headers would double the time to compile a source that includes them.
    debug = "-g1" if request.library else "-g"
    # The twin headers always need opbridge's own types, whatever the request includes.
    return (*ascend.flags(), f"-isystem{INCLUDE}", debug)


def runtime() -> Path:
    """Return the path of the library that every kernel is linked with, building it if necessary."""
    return build(runtime_request()).path


def runtime_request() -> BuildRequest:
    """Return the build request for the library that every kernel is linked with."""
    return rewriting.runtime_request(
        ascend.RUNTIME, ascend.LIBRARY, (ascend.INCLUDE, INCLUDE), title="the Ascend twin's library"
    )
