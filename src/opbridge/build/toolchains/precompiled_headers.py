"""Use smaller headers instead of a library's large ones, precompiled once for many sources."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Dependencies, Key, KeyBuilder
from opbridge.build.cache.filesystem import remove
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_plan import BuildPlan
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import INCLUDE, BuildRequest, Command, InstalledLibrary, SlimHeaders
from opbridge.build.toolchains.library_headers import mention
from opbridge.build.toolchains.object_cache import keeps_objects
from opbridge.build.toolchains.search_folders import search_folders

_BESIDES = re.compile(r"-(O[123]$|W[^,]*$|[DUILl].)")
_ASSERT = re.compile(r"-[DU]NDEBUG(=|$)")
_NO_ASSERT = INCLUDE / "slim" / "no_assert.h"


def with_fast_headers(plan: BuildPlan, context: BuildContext) -> BuildPlan:
    """Return the plan with slim or precompiled headers for the sources that can use them.

    Call it once in a build: it walks the user folders.
    """
    plan = _without_hidden_headers(plan)
    slim = _with_slim_headers(plan, context)
    # All headers, if they are precompiled, take less time than fewer as text.
    whole = slim if slim.headers else _with_whole_headers(plan, context)
    return whole if whole.headers else slim


def with_fuller_headers(plan: BuildPlan, failed: Collection[Path], context: BuildContext) -> BuildPlan:
    """Return the plan to try after sources failed with slim headers; the objects of the others are kept."""
    request = plan.request
    if request.library is None or not keeps_objects(request) or len(failed) == len(request.sources):
        return _with_whole_headers(plan.with_request(request), context)
    before = (*request.library.before, *((source, None) for source in failed))
    library = replace(request.library, before=before)
    return _with_slim_headers(plan.with_request(replace(request, library=library)), context)


def _without_hidden_headers(plan: BuildPlan) -> BuildPlan:
    """Return the plan without slim and precompiled headers if a user folder hides headers of the library."""
    library = plan.request.library
    if (
        library is None
        or (library.slim_headers or library.whole_headers) is None
        or not _hides_headers(plan.request, library)
    ):
        return plan
    return plan.with_request(replace(plan.request, library=replace(library, slim_headers=None, whole_headers=None)))


def _with_slim_headers(plan: BuildPlan, context: BuildContext) -> BuildPlan:
    """Return the plan with slim headers for the sources that can use them."""
    request, library = plan.request, plan.request.library
    if library is None or library.slim_headers is None:
        return plan
    kinds: dict[SlimHeaders, list[Path]] = {}
    for source in _beginning_with(library, library.slim_headers, request):
        of_bindings = library.binding_headers if source in request.bindings else None
        kinds.setdefault(of_bindings or library.slim_headers, []).append(source)
    if not kinds:
        return plan
    first: list[tuple[Path, tuple[str, ...]]] = []
    headers = []
    for slim_headers, sources in kinds.items():
        of_kind = plan.with_request(replace(request, sources=tuple(sources)))
        header = _precompiled(of_kind, library, slim_headers, context)
        flags = (f"-isystem{slim_headers.include_dir}", *(("-include", str(header)) if header else ()))
        first += [(source, (*flags, *_no_assert(request, source))) for source in sources]
        headers += [header] if header else []
    slim = tuple(source for source, _ in first)
    first += [(source, _no_assert(request, source)) for source in request.sources if source not in slim]
    silent = _silent_on_assert(request)
    variant = replace(silent, source_flags=(*first, *silent.source_flags))
    return replace(plan, variant=variant, headers=tuple(headers), slim=slim)


def _with_whole_headers(plan: BuildPlan, context: BuildContext) -> BuildPlan:
    """Return the plan with all of the library's headers precompiled, if `precompile_whole` made them."""
    # Use one precompiled header for all sources: compile the bindings with the same flags as the kernels.
    request = replace(plan.request, bindings=())
    library = request.library
    if library is None or library.whole_headers is None:
        return plan
    _, key = _keyed(plan.with_request(request), library, library.whole_headers, context) or (None, None)
    entry = context.cache.find(key) if key else None
    sources = _beginning_with(library, library.whole_headers, request)
    if entry is None or not sources:
        return plan
    header = entry.path / library.whole_headers.name
    flags = tuple((source, ("-include", str(header))) for source in sources)
    return replace(plan, variant=replace(request, source_flags=(*flags, *request.source_flags)), headers=(header,))


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
        path.is_file() and (theirs / path.relative_to(own)).is_file()
        for own in folders.own
        if own not in (*library_folders, python)
        for name in names
        for path in (own / name, *(own / name).rglob("*"))
        for theirs in library_folders
    )


def precompile_whole(plan: BuildPlan, context: BuildContext) -> None:
    """Precompile all of the library's headers, before compiling many sources."""
    if (library := plan.request.library) and library.whole_headers:
        _precompiled(plan, library, library.whole_headers, context)


def precompile_slim(plan: BuildPlan, context: BuildContext) -> None:
    """Precompile the slim headers that the sources need, however few the sources are."""
    if (library := plan.request.library) and library.slim_headers:
        at_once = replace(library, slim_headers=replace(library.slim_headers, worth_from=1))
        _with_slim_headers(plan.with_request(replace(plan.request, library=at_once)), context)


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
    plan: BuildPlan, library: InstalledLibrary, slim_headers: SlimHeaders, context: BuildContext
) -> Path | None:
    """Return the precompiled header from the cache, making it if necessary; None if there is none.

    Failures are only reported as progress: a source also compiles without the precompiled header.
    """
    name, sources = slim_headers.name, plan.request.sources
    keyed = _keyed(plan, library, slim_headers, context)
    if keyed is None:
        return None
    command, key = keyed
    if len(sources) < slim_headers.worth_from and _are_the_first(sources, key, context):
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
    plan: BuildPlan, library: InstalledLibrary, headers: SlimHeaders, context: BuildContext
) -> tuple[Command, Key] | None:
    """Return the command that precompiles the headers, and its cache key; None if the compiler cannot."""
    # Use a target relative to the compiler's folder, so that the command and the key are the same everywhere.
    request, toolchain = plan.request, plan.toolchain
    command = toolchain.precompile(_shared(request, headers), headers.header, Path(headers.name))
    if command is None:
        return None
    key = KeyBuilder("precompiled header").add("toolchain", *toolchain.identity(request, context.cache))
    return command, key.add("command", *command.argv).add("library", *library.identity).key()
