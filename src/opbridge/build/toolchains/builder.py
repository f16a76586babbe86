"""Build shared libraries through the cache, with any toolchain."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import BuildError, InputError, OpbridgeError
from opbridge.base.progress import carried
from opbridge.build.cache import Cache, CacheEntry, Dependencies, Key, KeyBuilder
from opbridge.build.toolchains import prebuilt
from opbridge.build.toolchains.interface import COMPATIBLE, INCLUDE, LOG, VECTOR, BuildRequest, BuiltLibrary, Toolchain
from opbridge.build.toolchains.table import toolchain_for

if TYPE_CHECKING:
    from opbridge.build.toolchains.compiler_processes import Compilers

Progress = Callable[[str], None]


def build(request: BuildRequest, cache: Cache | None = None, on_progress: Progress | None = None) -> BuiltLibrary:
    """Return the library of a request, building it if anything that affects the result changed.

    Raises:
        OpbridgeError: The sources do not exist or do not compile, or no compiler was found.
    """
    if library := prebuilt.find(request):
        return _as_included(library)
    cache = cache or Cache()
    return _built(_job(request, cache), cache, on_progress or _log_progress, None)


def begin(
    request: BuildRequest, cache: Cache, on_progress: Progress | None = None, compilers: Compilers | None = None
) -> Callable[[], BuiltLibrary]:
    """Start a build in a background thread and return a function that waits for it and returns the library.

    Python does not exit before the build ends. The exception is a build whose `compilers` are stopped, for example
    because the wait was interrupted.
    """
    if included := prebuilt.find(request):
        return lambda: _as_included(included)
    job = _job(request, cache)
    entry = cache.find(job.key, job.places)
    if entry is not None:
        library = _library(job, entry)
        return lambda: library
    from concurrent.futures import ThreadPoolExecutor

    from opbridge.build.toolchains.compiler_processes import Compilers

    running_compilers = compilers or Compilers()
    thread = ThreadPoolExecutor(1)
    running = thread.submit(carried(_built), job, cache, on_progress or _log_progress, running_compilers)
    thread.shutdown(wait=False)

    def wait() -> BuiltLibrary:
        try:
            error = running.exception()
        except BaseException:
            running_compilers.stop()
            raise
        if error:
            raise error.with_traceback(None)  # the other thread's traceback is of no use to the caller
        return running.result()

    return wait


def build_many(
    requests: Sequence[BuildRequest],
    cache: Cache | None = None,
    jobs: int | None = None,
    on_progress: Progress | None = None,
) -> list[BuiltLibrary]:
    """Build the libraries of several requests with at most `jobs` compilers at a time, and return them in order.

    Raises:
        BuildError: Some requests failed; the one error reports all of them.
    """
    cache, progress = cache or Cache(), on_progress or _log_progress
    outcomes: dict[int, BuiltLibrary | BaseException] = {}
    missing: dict[int, _PreparedBuild] = {}
    # Look for cached libraries first: that takes less time than starting threads.
    for place, request in enumerate(requests):
        try:
            job = _job(request, cache)
            entry = cache.find(job.key, job.places)
        except OpbridgeError as error:
            outcomes[place] = error
            continue
        if entry is None:
            missing[place] = job
        else:
            outcomes[place] = _library(job, entry)
    if missing:
        outcomes |= _built_together(missing, cache, jobs, progress)
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, BaseException)]
    if errors:
        raise _all_in_one(errors, len(requests))
    return [outcome for _, outcome in sorted(outcomes.items()) if isinstance(outcome, BuiltLibrary)]


def _all_in_one(errors: list[BaseException], asked: int) -> BaseException:
    texts = dict.fromkeys(map(str, errors))
    strange = [error for error in errors if not isinstance(error, OpbridgeError)]
    if strange or len(texts) == 1:
        return (strange or errors)[0]
    return BuildError("\n\n".join((*texts, f"{len(errors)} of {asked} libraries could not be built")))


def precompile(request: BuildRequest, cache: Cache | None = None, *, slim: bool = False) -> None:
    """Precompile headers of the library that the sources include, before compiling many such sources.

    With `slim`, precompile the smaller headers that these sources need; else all headers of the library.
    """
    from opbridge.build.toolchains.build_context import BuildContext
    from opbridge.build.toolchains.compiler_processes import Compilers
    from opbridge.build.toolchains.precompiled_headers import precompile_slim, precompile_whole

    cache = cache or Cache()
    job = _job(request, cache)
    context = BuildContext(job.toolchain, cache, _log_progress, Compilers())
    (precompile_slim if slim else precompile_whole)(job.request, context)


@dataclass(frozen=True)
class _PreparedBuild:
    """A validated request with its toolchain and cache key; only the build itself is left to do."""

    request: BuildRequest
    toolchain: Toolchain
    key: Key

    @property
    def places(self) -> dict[str, Path]:
        return {"project": self.request.project, "opbridge": INCLUDE}


def is_built(request: BuildRequest, cache: Cache) -> bool:
    """Return whether `build` would return a library without compiling it."""
    if prebuilt.find(request):
        return True
    job = _job(request, cache)
    return cache.find(job.key, job.places) is not None


def inputs(request: BuildRequest, cache: Cache) -> list[Path]:
    """Return the files that the compilation of a built request read."""
    job = _job(request, cache)
    entry = cache.find(job.key, job.places)
    return cache.inputs(entry, job.places) if entry else []


def _as_included(library: Path) -> BuiltLibrary:
    return BuiltLibrary(library, 0.0, cached=True, log="")


def _job(request: BuildRequest, cache: Cache) -> _PreparedBuild:
    from opbridge.build.toolchains.torch_sources import with_torch

    toolchain = toolchain_for(request.language)
    request = absolute(request)
    _check_sources(request, toolchain)
    request = with_torch(request)
    return _PreparedBuild(request, toolchain, _key(request, toolchain, cache))


def _built_together(
    missing: dict[int, _PreparedBuild], cache: Cache, jobs: int | None, progress: Progress
) -> dict[int, BuiltLibrary | BaseException]:
    from concurrent.futures import ThreadPoolExecutor

    from opbridge.build.toolchains.compiler_processes import Compilers

    compilers = Compilers(jobs)
    # The threads only wait for compilers, whose number has its own bound.
    with cache.step(_about(missing.values())), ThreadPoolExecutor(len(missing)) as threads:
        built = carried(_built)
        try:
            futures = {place: threads.submit(built, job, cache, progress, compilers) for place, job in missing.items()}
            return {place: future.exception() or future.result() for place, future in futures.items()}
        except BaseException:
            compilers.stop()
            raise


def _about(jobs: Collection[_PreparedBuild]) -> str:
    first = next(iter(jobs))
    return first.request.about if len(jobs) == 1 else f"building {len(jobs)} libraries"


def _built(job: _PreparedBuild, cache: Cache, progress: Progress, compilers: Compilers | None) -> BuiltLibrary:
    def work(folder: Path) -> Dependencies:
        # A cache hit does not need the modules that compile, and they are slow to import.
        from opbridge.build.toolchains.compilation import compile_library
        from opbridge.build.toolchains.compiler_processes import Compilers

        return compile_library(job.request, job.toolchain, folder, cache, progress, compilers or Compilers())

    return _library(job, cache.fetch(job.key, work, job.places, job.request.about))


def _library(job: _PreparedBuild, entry: CacheEntry) -> BuiltLibrary:
    log = (entry.path / LOG).read_text(encoding="utf-8")
    return BuiltLibrary(entry.path / job.request.output, entry.seconds, entry.hit, log)


def absolute(request: BuildRequest) -> BuildRequest:
    """Return the request with absolute paths and opbridge's include folders, as a toolchain expects it."""

    def full(path: Path) -> Path:
        return Path(os.path.abspath(path))

    sources = tuple(map(full, request.sources))
    return replace(
        request,
        sources=sources,
        include_dirs=(*map(full, request.include_dirs), INCLUDE, VECTOR, COMPATIBLE),
        root=full(request.root) if request.root else replace(request, sources=sources).project,
    )


def _check_sources(request: BuildRequest, toolchain: Toolchain) -> None:
    for source in request.sources:
        if source.suffix not in toolchain.suffixes:
            raise InputError(
                f"{source}: the {toolchain.name} compiler takes {', '.join(toolchain.suffixes)}, "
                f"not {source.suffix or 'a name without a suffix'}",
                hint="rename the file, or choose the device it is for",
            )
        if not source.is_file():
            raise InputError(f"{source}: no such file", hint=f"it was to be compiled into {request.output}")


def _key(request: BuildRequest, toolchain: Toolchain, cache: Cache) -> Key:
    """Return the cache key: everything known about a build before it starts."""
    anywhere = _anywhere(request)
    commands = toolchain.commands(anywhere, Path("@build"))
    key = KeyBuilder("library").add("language", request.language)
    key.add("toolchain", *toolchain.identity(request, cache))
    for command in (*commands.compiles, commands.link):
        key.add("command", *command.argv)
    for path, text in commands.texts:
        key.add("text", str(path), text)
    for source, name in zip(request.sources, anywhere.sources, strict=True):
        key.add("source", str(name), source)
    if request.library:
        key.add("library", *request.library.identity)
    return key.add("abi", INCLUDE / "opbridge" / "abi.h").key()


def _anywhere(request: BuildRequest) -> BuildRequest:
    """Return the request with project-relative paths, so that copies of the project elsewhere get the same key."""

    def moved(path: Path) -> Path:
        for name, folder in (("@opbridge", INCLUDE), ("@project", request.project)):
            if path.is_relative_to(folder):
                return name / path.relative_to(folder)
        return path

    return replace(
        request,
        sources=tuple(map(moved, request.sources)),
        bindings=tuple(map(moved, request.bindings)),
        source_flags=tuple((moved(source), flags) for source, flags in request.source_flags),
        include_dirs=tuple(map(moved, request.include_dirs)),
        root=Path("@project"),
    )


def _log_progress(text: str) -> None:
    import logging

    logging.getLogger("opbridge").info(text)
