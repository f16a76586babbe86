"""The part that all twin toolchains share: the host compiler, preceded by a command that rewrites the source."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from opbridge.build.toolchains import host
from opbridge.build.toolchains.interface import BuildRequest, Command, Commands
from opbridge.twins.common import RUNTIME
from opbridge.twins.common.host_calls import INNER

_PACKAGES = Path(__file__).parents[3]
# Isolated, because the user's folder is the current one and may contain modules named like Python's own.
_DRIVER = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from opbridge.twins.{}.compiler_command import main; sys.exit(main(sys.argv[2:]))"
)

_NOT_REWRITING = {"nvcc", "projects", "torch_device"}
"""Folders of twins that do something else."""


def commands(twin: str, request: BuildRequest, folder: Path) -> Commands:
    """Return the host compiler's commands, preceded by the twin's rewriting of each source."""
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
    """Return a digest of the code that rewrites sources, so that libraries are rebuilt when it changes."""
    folders = (
        _PACKAGES / "opbridge" / "build" / "cxx",
        *(_PACKAGES / "opbridge" / "twins" / name for name in ("common", twin)),
    )
    found = (path for folder in folders for path in folder.rglob("*.py"))
    sources = sorted(path for path in found if not _NOT_REWRITING & {*path.relative_to(_PACKAGES).parts})
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


def compiler_words(command: Command) -> tuple[str, ...]:
    """Return the compiler's own command from a twin's compile command, without its input file."""
    return command.argv[command.argv.index("--") + 1 :]


def as_edited(source: Path, command: Command, *before: str) -> tuple[str, ...]:
    """Return the compiler's own command for the source, with the options before it.

    With a twin's headers, a source is valid C++ but for a `<<<...>>>` launch.
    """
    return (*compiler_words(command), "-x", "c++", *before, "-c", str(source))


def named(library: str) -> tuple[str, ...]:
    """Return link flags that name the library and version its symbols.

    Whatever is linked with it takes the functions from this library only. Another library whose symbols are
    visible in the whole process, such as the CUDA runtime of a GPU build of PyTorch, cannot replace them.
    """
    return (f"-Wl,-soname,{library}", "-Wl,--default-symver")


def runtime_request(
    folder: Path, library: str, include_dirs: Sequence[Path], flags: tuple[str, ...] = (), title: str = ""
) -> BuildRequest:
    """Return the build request for the library that a twin's kernels are linked with.

    Its sources are the twin's own and those that all twins share.
    """
    return BuildRequest(
        sources=tuple(sorted((*folder.rglob("*.cpp"), *RUNTIME.glob("*.cpp")))),
        output=library,
        include_dirs=(folder, RUNTIME, *include_dirs),
        flags=flags,
        link_flags=("-pthread", "-ldl", *named(library)),
        portable=True,
        title=title,
        built_for=(),
    )
