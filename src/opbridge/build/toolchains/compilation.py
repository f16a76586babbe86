"""The work of a build that is not in the cache: compile, link, and find out which files were read."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.base.progress import carried
from opbridge.build.cache import Cache, Dependencies
from opbridge.build.cache.filesystem import remove
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_failure import failure
from opbridge.build.toolchains.compilation_turns import GivenUpError, Turns
from opbridge.build.toolchains.compiler_processes import Compilers, Outcome
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import LOG, BuildRequest, Command, Commands, Toolchain
from opbridge.build.toolchains.isolated_variables import link
from opbridge.build.toolchains.kernel_parts import are_placed, leaves_parts, place_parts, with_parts
from opbridge.build.toolchains.object_cache import keeps_objects, kept_object
from opbridge.build.toolchains.precompiled_headers import ShortWay, short_way, whole_way, with_usable_headers
from opbridge.build.toolchains.search_folders import search_folders, system_folders
from opbridge.build.toolchains.slim_header_failures import would_fail_anyway
from opbridge.build.toolchains.undeclared_inputs import dependencies


def compile_library(
    request: BuildRequest,
    toolchain: Toolchain,
    folder: Path,
    cache: Cache,
    progress: Callable[[str], None],
    compilers: Compilers,
) -> Dependencies:
    """Compile and link the library into `folder`, and return the files that it depends on.

    Try slim or precompiled library headers first, and fall back to the library's full headers if that fails.

    Raises:
        OpbridgeError: A compilation or the link failed.
    """
    context = BuildContext(toolchain, cache, progress, compilers)
    scratch = folder / "scratch"
    scratch.mkdir()
    usable = with_usable_headers(request)
    slim = short_way(usable, context)
    # All headers, if they are precompiled, take less time than fewer as text.
    whole = None if slim and slim.headers else whole_way(usable, context)
    slim = None if whole else slim
    short = whole or slim
    if leaves_parts(request):
        attempt = _attempt_with_parts(request, context, folder, scratch)
    else:
        attempt = _attempt_by(short, request, context, folder, scratch)
    if slim and not attempt.compiled and not attempt.is_final:
        # A failure with the slim headers is not final: only the library's own headers decide.
        short = _longer_way(usable, attempt, context)
        attempt = _attempt_by(short, request, context, folder, scratch)
    commands, outcomes = attempt.commands, attempt.outcomes
    if any(outcome.failed for outcome in outcomes):
        raise failure(request, outcomes, cache)
    for written in (*commands.depfiles, folder / request.output):
        if not written.is_file():
            command = outcomes[-1].command.argv[0]
            raise ToolchainError(f"{command} ended well but did not write {written.name}; is it a C++ compiler?")
    shaping = _dependencies(request, attempt, folder, short.headers if short else (), context)
    (folder / LOG).write_text("".join(outcome.stderr for outcome in outcomes), encoding="utf-8")
    remove(scratch)
    return shaping


@dataclass(frozen=True)
class _Attempt:
    commands: Commands
    outcomes: list[Outcome]
    """The outcomes of the compilations, and of the link if all compilations succeeded."""
    is_final: bool
    """Whether a source failed that the full headers would not fix."""

    @property
    def compiled(self) -> bool:
        return len(self.outcomes) > len(self.commands.compiles)


def _is_final(way: ShortWay | None, source: Path, failed: Outcome) -> bool:
    """Return whether compiling the source with the full headers could not fix the failure."""
    return way is None or source not in way.sources or would_fail_anyway(failed.stderr, way.library)


def _longer_way(request: BuildRequest, attempt: _Attempt, context: BuildContext) -> ShortWay | None:
    """Return the next attempt for the sources that failed; the objects of the others are kept."""
    failed = _failed_sources(attempt, request)
    if request.library is None or not keeps_objects(request) or len(failed) == len(request.sources):
        return whole_way(request, context)
    before = (*request.library.before, *((source, None) for source in failed))
    return short_way(replace(request, library=replace(request.library, before=before)), context)


def _failed_sources(attempt: _Attempt, request: BuildRequest) -> list[Path]:
    outcomes = zip(request.sources, attempt.outcomes, strict=False)
    return [source for source, outcome in outcomes if outcome.failed]


def _attempt_with_parts(request: BuildRequest, context: BuildContext, folder: Path, scratch: Path) -> _Attempt:
    """Compile the kernel and, for the first kernel in this cache, its shared parts at the same time."""
    parts = partial(place_parts, request, context, scratch)
    attempt = _attempt(with_parts(request, scratch), context, folder, scratch, parts)
    # Another linker has other messages, and a part may lack something: the usual way decides about a failed link.
    is_usable = are_placed(scratch) and not (attempt.compiled and attempt.outcomes[-1].failed)
    return attempt if is_usable else _attempt(request, context, folder, scratch)


def _attempt_by(
    way: ShortWay | None, request: BuildRequest, context: BuildContext, folder: Path, scratch: Path
) -> _Attempt:
    if way is None:
        return _attempt(request, context, folder, scratch)
    return _attempt(way.request, context, folder, scratch, way=way)


def _attempt(
    request: BuildRequest,
    context: BuildContext,
    folder: Path,
    scratch: Path,
    beside: Callable[[], None] = lambda: None,
    way: ShortWay | None = None,
) -> _Attempt:
    """Compile all sources, then link them if all succeeded. `beside` runs in parallel and ends before the link."""
    headers = way.headers if way else ()
    commands = context.toolchain.commands(request, folder)
    for path, text in commands.texts:
        path.write_text(text, encoding="utf-8")

    turns = Turns(len(commands.compiles), context.progress)
    in_turn = replace(context, progress=turns.come)

    def shaping(alone: BuildRequest, files: list[Path]) -> Dependencies:
        return dependencies(alone, files, search_folders(alone, system_folders(context, scratch)))

    def compiled(source: Path, command: Command, rule: Path) -> Outcome:
        if not keeps_objects(request):
            return in_turn.run(command, request.project, scratch)
        besides = [folder, *(header.parent for header in headers)]
        return kept_object(request, source, rule.with_suffix(""), in_turn, besides, shaping)

    def compile_source(source: Path, command: Command, rule: Path) -> Outcome:
        try:
            outcome = compiled(source, command, rule)
        except GivenUpError:
            return Outcome.left_out(command)
        turns.end(command.about)
        if outcome.failed and _is_final(way, source, outcome):
            turns.give_up()
        return outcome

    with ThreadPoolExecutor(len(commands.compiles) + 1) as threads:
        try:
            other = threads.submit(carried(beside))
            outcomes = list(threads.map(carried(compile_source), request.sources, commands.compiles, commands.depfiles))
            other.result()
        except BaseException:
            context.compilers.stop()
            raise
    if not any(outcome.failed for outcome in outcomes):
        library = folder / request.output
        outcomes.append(link(commands, library, lambda command: context.run(command, request.project, scratch)))
    return _Attempt(commands, outcomes, turns.given_up)


def _dependencies(
    request: BuildRequest, attempt: _Attempt, folder: Path, precompiled: tuple[Path, ...], context: BuildContext
) -> Dependencies:
    besides = [folder, *(header.parent for header in precompiled)]
    depfiles = [(depfile, request.project) for depfile in attempt.commands.depfiles]
    depfiles += [(Path(f"{header}.d"), header.parent) for header in precompiled]
    files = [path for depfile, origin in depfiles for path in files_read(depfile, origin, besides)]
    # Objects and static libraries become part of the result; shared libraries are looked up when the result is loaded.
    linked = re.findall(r"^\(?([^()\n]+\.[ao])(?=[)\n])", attempt.outcomes[-1].stdout, re.MULTILINE)
    archives = [path for name in linked if not (path := request.project / name).is_relative_to(folder)]
    system = system_folders(context, attempt.commands.depfiles[0].parent)
    compiled = dependencies(request, files, search_folders(request, system))
    return replace(compiled, files=tuple(dict.fromkeys([*compiled.files, *archives])))
