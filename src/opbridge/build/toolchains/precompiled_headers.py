"""Use smaller headers instead of a library's large ones, precompiled once for many sources."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Dependencies, Key, KeyBuilder
from opbridge.build.cache.filesystem import remove
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, Command, InstalledLibrary, SlimHeaders
from opbridge.build.toolchains.library_headers import mention
from opbridge.build.toolchains.search_folders import search_folders

_BESIDES = re.compile(r"-(O[123]$|W[^,]*$|[DUILl].)")
_ASSERT = re.compile(r"-[DU]NDEBUG(=|$)")
_NO_ASSERT = INCLUDE / "slim" / "no_assert.h"


@dataclass(frozen=True)
class ShortWay:
    """A request changed to use slim or precompiled headers."""

    request: BuildRequest
    library: InstalledLibrary
    headers: tuple[Path, ...]
    """The precompiled headers, which the compiler reads first; NAME.d next to each lists its inputs."""
    sources: tuple[Path, ...]
    """The sources that use the slim headers; the others are compiled with the full headers."""


def with_usable_headers(request: BuildRequest) -> BuildRequest:
    """Return the request without slim and precompiled headers if a user folder hides headers of the library.

    Call it once in a build: it walks the user folders.
    """
    library = request.library
    if (
        library is None
        or (library.slim_headers or library.whole_headers) is None
        or not _hides_headers(request, library)
    ):
        return request
    return replace(request, library=replace(library, slim_headers=None, whole_headers=None))


def short_way(request: BuildRequest, context: BuildContext) -> ShortWay | None:
    """Return the request with slim headers for the sources that can use them; None if no source can."""
    library = request.library
    if library is None or library.slim_headers is None:
        return None
    kinds: dict[SlimHeaders, list[Path]] = {}
    for source in _beginning_with(library, library.slim_headers, request):
        of_bindings = library.binding_headers if source in request.bindings else None
        kinds.setdefault(of_bindings or library.slim_headers, []).append(source)
    first: list[tuple[Path, tuple[str, ...]]] = []
    headers = []
    for slim_headers, sources in kinds.items():
        header = _precompiled(replace(request, sources=tuple(sources)), library, slim_headers, context)
        flags = (f"-isystem{slim_headers.include_dir}", *(("-include", str(header)) if header else ()))
        first += [(source, (*flags, *_no_assert(request, source))) for source in sources]
        headers += [header] if header else []
    if not kinds:
        return None
    short = tuple(source for source, _ in first)
    by_the_long_way = [source for source in request.sources if source not in short]
    first += [(source, _no_assert(request, source)) for source in by_the_long_way]
    request = _silent_on_assert(request)
    return ShortWay(replace(request, source_flags=(*first, *request.source_flags)), library, tuple(headers), short)


def whole_way(request: BuildRequest, context: BuildContext) -> ShortWay | None:
    """Return the request with all of the library's headers precompiled, if `precompile_whole` made them; else None."""
    library = request.library
    if library is None or library.whole_headers is None:
        return None
    # Use one precompiled header for all sources: compile the bindings with the same flags as the kernels.
    request = replace(request, bindings=())
    _, key = _keyed(request, library, library.whole_headers, context) or (None, None)
    entry = context.cache.find(key) if key else None
    sources = _beginning_with(library, library.whole_headers, request)
    if entry is None or not sources:
        return None
    header = entry.path / library.whole_headers.name
    flags = tuple((source, ("-include", str(header))) for source in sources)
    return ShortWay(replace(request, source_flags=(*flags, *request.source_flags)), library, (header,), tuple(sources))


def _beginning_with(library: InstalledLibrary, headers: SlimHeaders, request: BuildRequest) -> list[Path]:
    """Return the sources that may include these headers first: nothing before the library's header affects them."""
    before = {**dict.fromkeys(request.sources, frozenset[str]()), **dict(library.before)}
    harmless = {names for names in set(before.values()) if names is not None and not mention(library, headers, names)}
    return [source for source in request.sources if before[source] in harmless]


def _hides_headers(request: BuildRequest, library: InstalledLibrary) -> bool:
    """Return whether a user folder contains a header with the path of a library header.

    The shared header was precompiled without that folder.  The Python headers may include copies of library headers;
    they do not count, because the shared header was precompiled with them.
    """
    folders = search_folders(request, ())
    python = Path(sysconfig.get_path("include"))
    library_folders = [folder for folder in folders.given if folder.is_relative_to(library.folder)]
    names = {path.name for folder in library_folders if folder.is_dir() for path in folder.iterdir()}
    return any(
        (theirs / path.relative_to(own)).is_file()
        for own in folders.own
        if own not in (*library_folders, python)
        for name in names
        for path in (own / name, *(own / name).rglob("*"))
        for theirs in library_folders
    )


def precompile_whole(request: BuildRequest, context: BuildContext) -> None:
    """Precompile all of the library's headers, before compiling many sources."""
    if request.library and request.library.whole_headers:
        _precompiled(request, request.library, request.library.whole_headers, context)


def precompile_slim(request: BuildRequest, context: BuildContext) -> None:
    """Precompile the slim headers that the sources need, however few the sources are."""
    if (library := request.library) and library.slim_headers:
        at_once = replace(library, slim_headers=replace(library.slim_headers, worth_from=1))
        short_way(replace(request, library=at_once), context)


def _no_assert(request: BuildRequest, source: Path) -> tuple[str, ...]:
    """Return flags that define NDEBUG after the precompiled header, if the source is compiled with NDEBUG.

    The compiler would reject a header that was precompiled without NDEBUG if the macro were defined before it.
    """
    flags = (*(f"-D{macro}" for macro, _ in request.defines), *request.flags_for(source))
    said = [flag for flag in flags if _ASSERT.match(flag)]
    return ("-include", str(_NO_ASSERT)) if said and said[-1].startswith("-D") else ()


def _silent_on_assert(request: BuildRequest) -> BuildRequest:
    def others(flags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(flag for flag in flags if not _ASSERT.match(flag))

    return replace(
        request,
        defines=tuple(define for define in request.defines if define[0] != "NDEBUG"),
        flags=others(request.flags),
        suffix_flags=tuple((suffix, others(flags)) for suffix, flags in request.suffix_flags),
        source_flags=tuple((source, others(flags)) for source, flags in request.source_flags),
    )


def _shared(request: BuildRequest, slim_headers: SlimHeaders) -> BuildRequest:
    """Return the request without the project's flags that do not affect a precompiled header.

    If one of the project's macros does affect the header, the compiler notices and reads the header as text.
    """
    everything = request.flags_for(request.sources[0])
    own = [flag for flag in everything[len(slim_headers.flags) :] if not _BESIDES.match(flag)]
    return replace(request, flags=(*slim_headers.flags, *own))


def _precompiled(
    request: BuildRequest, library: InstalledLibrary, slim_headers: SlimHeaders, context: BuildContext
) -> Path | None:
    """Return the precompiled header from the cache, making it if necessary; None if there is none.

    Failures are only reported as progress: a source also compiles without the precompiled header.
    """
    name = slim_headers.name
    keyed = _keyed(request, library, slim_headers, context)
    if keyed is None:
        return None
    command, key = keyed
    if len(request.sources) < slim_headers.worth_from and _are_the_first(request.sources, key, context):
        return None

    def work(folder: Path) -> Dependencies:
        scratch = folder / "scratch"
        scratch.mkdir()
        outcome = context.run(command, folder, scratch)
        if outcome.failed or not (folder / f"{name}.gch").is_file():
            raise ToolchainError(f"{command.about} failed:\n{outcome.stderr}")
        remove(scratch)
        # A compiler that rejects the precompiled file reads this text instead.
        (folder / name).write_text(f'#include "{slim_headers.header}"\n', encoding="utf-8")
        return Dependencies(tuple(files_read(folder / f"{name}.d", folder, [library.folder])))

    try:
        return context.cache.fetch(key, work, about=command.about).path / name
    except OpbridgeError as error:
        context.tell(f"compiling without a precompiled header: {error}")
        return None


def _are_the_first(sources: tuple[Path, ...], header: Key, context: BuildContext) -> bool:
    """Return whether no other sources have asked for this header yet.

    Do not precompile for the first sources: a user who builds only one extension must never wait for it.
    """
    texts = {KeyBuilder("text").add("source", source).key() for source in sources}
    first = KeyBuilder("first sources of a precompiled header").add("header", header).key()
    return context.cache.find(header) is None and texts <= set(
        context.cache.fetch_value(first, lambda: "\n".join(sorted(texts)).encode()).decode().splitlines()
    )


def _keyed(
    request: BuildRequest, library: InstalledLibrary, headers: SlimHeaders, context: BuildContext
) -> tuple[Command, Key] | None:
    """Return the command that precompiles the headers, and its cache key; None if the compiler cannot."""
    # Use a target relative to the compiler's folder, so that the command and the key are the same everywhere.
    command = context.toolchain.precompile(_shared(request, headers), headers.header, Path(headers.name))
    if command is None:
        return None
    key = KeyBuilder("precompiled header").add("toolchain", *context.toolchain.identity(request, context.cache))
    return command, key.add("command", *command.argv).add("library", *library.identity).key()
