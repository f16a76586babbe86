"""What the toolchains of the twins share: the host's compiler, with what rewrites a source in front of it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from opbridge.toolchains import host
from opbridge.toolchains.model import BuildRequest, Command, Commands
from opbridge.twins.common import RUNTIME
from opbridge.twins.common.host_calls import INNER

_PACKAGES = Path(__file__).parents[2]
# Isolated, because the user's folder is the current one and may hold modules named like Python's own.
_DRIVER = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from opbridge.twins.{}.compiling import main; sys.exit(main(sys.argv[2:]))"
)


def commands(twin: str, request: BuildRequest, folder: Path) -> Commands:
    """The host compiler's commands, each source of which a package of `opbridge.twins` rewrites first."""
    plain = host.commands(request, folder)
    driver = (sys.executable, "-I", "-c", _DRIVER.format(twin), str(_PACKAGES))
    compiles = tuple(
        _rewriting(driver, source, request.sources, command, depfile)
        for source, command, depfile in zip(request.sources, plain.compiles, plain.depfiles, strict=True)
    )
    texts = tuple((path, text.replace("local:", f"local: {INNER}*;")) for path, text in plain.texts)
    return replace(plain, compiles=compiles, texts=texts)


def _rewriting(
    driver: tuple[str, ...], source: Path, sources: tuple[Path, ...], command: Command, depfile: Path
) -> Command:
    argv = list(command.argv)
    at = argv.index("-c")
    del argv[at : at + 2]
    folder = depfile.with_suffix("").with_suffix(".rewritten")
    others = (str(other) for other in sources if other != source)
    return replace(command, argv=(*driver, str(source), str(folder), str(depfile), *others, "--", *argv))


@cache
def state(twin: str) -> str:
    """Of the code that rewrites: what was compiled before it changed is another thing."""
    folders = (_PACKAGES / "opbridge" / "cxx", *(_PACKAGES / "opbridge" / "twins" / name for name in ("common", twin)))
    sources = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


def compiler_words(command: Command) -> tuple[str, ...]:
    """Of a twin's compilation: the compiler's own command, which lacks its input."""
    return command.argv[command.argv.index("--") + 1 :]


def named(library: str) -> tuple[str, ...]:
    """Link flags; what is linked with it takes its functions from it alone, and from no other library that a process
    shows to all, such as the CUDA that a build of PyTorch for GPUs brings."""
    return (f"-Wl,-soname,{library}", "-Wl,--default-symver")


def runtime_request(
    folder: Path, library: str, include_dirs: Sequence[Path], flags: tuple[str, ...] = (), title: str = ""
) -> BuildRequest:
    """The build of the library that a twin's kernels are linked with, from its sources and those of all twins."""
    return BuildRequest(
        sources=tuple(sorted((*folder.glob("*.cpp"), *RUNTIME.glob("*.cpp")))),
        output=library,
        include_dirs=(folder, RUNTIME, *include_dirs),
        flags=flags,
        link_flags=("-pthread", "-ldl", *named(library)),
        portable=True,
        title=title,
    )
