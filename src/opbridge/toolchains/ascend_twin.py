"""The Ascend C twin: the host's C++ compiler for kernels of the NPU, with headers and a library of opbridge's own.

Each source is rewritten and compiled by one command (opbridge.twins.ascend.compiling).  The library is built once, by
the host toolchain; every kernel is linked with it, so that in one process they share memory and reports.  Whether its
checks are on is asked when a kernel is launched: `OPBRIDGE_TWIN_CHECKS=0` in the environment turns them off.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from opbridge.cache import Cache
from opbridge.toolchains import host
from opbridge.toolchains.model import INCLUDE, BuildRequest, Command, Commands
from opbridge.twins import ascend, common
from opbridge.twins.common.host_calls import INNER

name = "Ascend C twin"
suffixes = (".asc", *host.suffixes)

_PACKAGES = Path(__file__).parents[2]
# Isolated, because the user's folder is the current one and may hold modules named like Python's own.
_DRIVER = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from opbridge.twins.ascend.compiling import main; sys.exit(main(sys.argv[2:]))"
)


def find() -> tuple[str, ...]:
    return host.find()


def identity(request: BuildRequest, cache: Cache) -> tuple[str, ...]:
    return host.identity(request, cache)


def commands(request: BuildRequest, folder: Path) -> Commands:
    prepared = replace(
        request,
        flags=(*_flags(), *request.flags),
        link_flags=(*ascend.link_flags(runtime()), *request.link_flags),
    )
    plain = host.commands(prepared, folder)
    compiles = tuple(
        _rewriting(source, request.sources, command, depfile)
        for source, command, depfile in zip(request.sources, plain.compiles, plain.depfiles, strict=True)
    )
    texts = tuple((path, text.replace("local:", f"local: {INNER}*;")) for path, text in plain.texts)
    return replace(plain, compiles=compiles, texts=texts)


def precompile(request: BuildRequest, header: Path, target: Path) -> Command | None:
    return host.precompile(replace(request, flags=(*_flags(), *request.flags)), header, target)


def _flags() -> tuple[str, ...]:
    # Whatever the request includes, the twin's headers are written on opbridge's own types.
    return (*ascend.flags(), f"-isystem{INCLUDE}", "-g")


def _rewriting(source: Path, sources: tuple[Path, ...], command: Command, depfile: Path) -> Command:
    argv = list(command.argv)
    at = argv.index("-c")
    del argv[at : at + 2]
    folder = depfile.with_suffix("").with_suffix(".rewritten")
    driver = (sys.executable, "-I", "-c", _DRIVER, str(_PACKAGES))
    others = (str(other) for other in sources if other != source)
    return replace(command, argv=(*driver, str(source), str(folder), str(depfile), *others, "--", *argv))


def runtime() -> Path:
    """The library, built where the cache of this process's environment has not got it."""
    from opbridge.toolchains.builder import build

    request = BuildRequest(
        sources=tuple(sorted((*ascend.RUNTIME.glob("*.cpp"), *common.RUNTIME.glob("*.cpp")))),
        output=ascend.LIBRARY,
        include_dirs=(ascend.RUNTIME, common.RUNTIME, ascend.INCLUDE, INCLUDE),
        link_flags=("-pthread", f"-Wl,-soname,{ascend.LIBRARY}"),
        portable=True,
    )
    return build(request).path
