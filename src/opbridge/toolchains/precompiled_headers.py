"""The short way through a library's headers: smaller ones in their place, precompiled once for all sources."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.cache import Dependencies, KeyBuilder
from opbridge.cache.filesystem import remove
from opbridge.errors import OpbridgeError, ToolchainError
from opbridge.progress import announce
from opbridge.toolchains.build_context import BuildContext
from opbridge.toolchains.depfiles import files_read
from opbridge.toolchains.model import BuildRequest, InstalledLibrary, SlimHeaders

_BESIDES = re.compile(r"-(O[123]$|W[^,]*$|[DUILl].)")


@dataclass(frozen=True)
class ShortWay:
    request: BuildRequest
    library: InstalledLibrary
    headers: tuple[Path, ...]
    """What the compiler reads first, precompiled in the cache; NAME.d beside each tells what went into it."""


def short_way(request: BuildRequest, context: BuildContext) -> ShortWay | None:
    library = request.library
    if library is None or library.slim_headers is None:
        return None
    kinds: dict[SlimHeaders, list[Path]] = {}
    for source in request.sources:
        of_bindings = library.binding_headers if source in request.bindings else None
        kinds.setdefault(of_bindings or library.slim_headers, []).append(source)
    first: list[tuple[Path, tuple[str, ...]]] = []
    headers = []
    for slim_headers, sources in kinds.items():
        header = _precompiled(replace(request, sources=tuple(sources)), library, slim_headers, context)
        flags = (f"-isystem{slim_headers.include_dir}", *(("-include", str(header)) if header else ()))
        first += [(source, flags) for source in sources]
        headers += [header] if header else []
    return ShortWay(replace(request, source_flags=(*first, *request.source_flags)), library, tuple(headers))


def _shared(request: BuildRequest, slim_headers: SlimHeaders) -> BuildRequest:
    """The request without flags of one project that a precompiled header fits whatever they say.

    Where a macro does change what the header means, the compiler sees it and reads the header as text.
    """
    everything = request.flags_for(request.sources[0])
    own = [flag for flag in everything[len(slim_headers.flags) :] if not _BESIDES.match(flag)]
    return replace(request, flags=(*slim_headers.flags, *own))


def _precompiled(
    request: BuildRequest, library: InstalledLibrary, slim_headers: SlimHeaders, context: BuildContext
) -> Path | None:
    """From the cache, or made now; a source compiles without it too, so what goes wrong here is no error."""
    name = slim_headers.name
    # The target is named from the folder the compiler runs in, so that the command is the same everywhere.
    command = context.toolchain.precompile(_shared(request, slim_headers), slim_headers.header, Path(name))
    if command is None:
        return None

    def work(folder: Path) -> Dependencies:
        scratch = folder / "scratch"
        scratch.mkdir()
        announce(f"{command.about}, once for all sources", 20)
        outcome = context.run(command, folder, scratch)
        if outcome.failed or not (folder / f"{name}.gch").is_file():
            raise ToolchainError(f"{command.about} failed:\n{outcome.stderr}")
        remove(scratch)
        # For a compiler that finds that what was precompiled does not fit after all.
        (folder / name).write_text(f'#include "{slim_headers.header}"\n', encoding="utf-8")
        return Dependencies(tuple(files_read(folder / f"{name}.d", folder, [library.folder])))

    try:
        key = KeyBuilder("precompiled header").add("toolchain", *context.toolchain.identity(request, context.cache))
        key.add("command", *command.argv).add("library", *library.identity)
        return context.cache.fetch(key.key(), work).path / name
    except OpbridgeError as error:
        context.progress(f"compiling without a precompiled header: {error}")
        return None
