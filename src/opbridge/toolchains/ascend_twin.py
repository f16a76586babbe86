"""The Ascend C twin: the host's C++ compiler for kernels of the NPU, with headers and a library of opbridge's own.

Each source is rewritten and compiled by one command (opbridge.twins.ascend.compiling).  The library is built once, by
the host toolchain; every kernel is linked with it, so that in one process they share memory and reports.  Whether its
checks are on is asked when a kernel is launched: `OPBRIDGE_TWIN_CHECKS=0` in the environment turns them off.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from opbridge.cache import Cache
from opbridge.toolchains import host, rewriting, shipped
from opbridge.toolchains.model import INCLUDE, BuildRequest, Command, Commands
from opbridge.twins import ascend

name = "Ascend C twin"
suffixes = (".asc", *host.suffixes)


def find() -> tuple[str, ...]:
    return host.find()


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    return (*host.identity(request, cache), rewriting.state("ascend"))


def commands(request: BuildRequest, folder: Path) -> Commands:
    prepared = replace(
        request,
        flags=(*_flags(), *request.flags),
        link_flags=(*ascend.link_flags(runtime()), *request.link_flags),
    )
    return rewriting.commands("ascend", prepared, folder)


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    return host.precompile(replace(request, flags=(*_flags(), *request.flags)), header, target)


def _flags() -> tuple[str, ...]:
    # Whatever the request includes, the twin's headers are written on opbridge's own types.
    return (*ascend.flags(), f"-isystem{INCLUDE}", "-g")


def runtime() -> Path:
    """The library that every kernel is linked with."""
    return shipped.library(runtime_request())


def runtime_request() -> BuildRequest:
    return rewriting.runtime_request(
        ascend.RUNTIME, ascend.LIBRARY, (ascend.INCLUDE, INCLUDE), title="the Ascend twin's library"
    )
