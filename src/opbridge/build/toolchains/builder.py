"""Build shared libraries through the cache, with any toolchain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import BuildError, OpbridgeError
from opbridge.base.progress import carried
from opbridge.build.cache import Cache, CacheEntry, Dependencies
from opbridge.build.toolchains import prebuilt
from opbridge.build.toolchains.build_plan import BuildPlan, planned
from opbridge.build.toolchains.interface import LOG, BuildRequest, BuiltLibrary

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
    return _built(planned(request, cache), cache, on_progress or _log_progress, None)


def begin(
    request: BuildRequest, cache: Cache, on_progress: Progress | None = None, compilers: Compilers | None = None
) -> Callable[[], BuiltLibrary]:
    """Start a build in a background thread and return a function that waits for it and returns the library.

    Python does not exit before the build ends. The exception is a build whose `compilers` are stopped, for example
    because the wait was interrupted.
    """
    if included := prebuilt.find(request):
        return lambda: _as_included(included)
    plan = planned(request, cache)
    if library := _found(plan, cache):
        return lambda: library
    from concurrent.futures import ThreadPoolExecutor

    from opbridge.build.toolchains.compiler_processes import Compilers

    running_compilers = compilers or Compilers()
    thread = ThreadPoolExecutor(1)
    running = thread.submit(carried(_built), plan, cache, on_progress or _log_progress, running_compilers)
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
    missing: dict[int, BuildPlan] = {}
    # Look for cached libraries first: that takes less time than starting threads.
    for place, request in enumerate(requests):
        try:
            plan = planned(request, cache)
            if library := _found(plan, cache):
                outcomes[place] = library
            else:
                missing[place] = plan
        except OpbridgeError as error:
            outcomes[place] = error
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
    context = BuildContext(cache, _log_progress, Compilers())
    (precompile_slim if slim else precompile_whole)(planned(request, cache), context)


def is_built(request: BuildRequest, cache: Cache) -> bool:
    """Return whether `build` would return a library without compiling it."""
    return bool(prebuilt.find(request) or _found(planned(request, cache), cache))


def inputs(request: BuildRequest, cache: Cache) -> list[Path]:
    """Return the files that the compilation of a built request read."""
    plan = planned(request, cache)
    entry = cache.find(plan.key, plan.places)
    return cache.inputs(entry, plan.places) if entry else []


def _as_included(library: Path) -> BuiltLibrary:
    return BuiltLibrary(library, 0.0, cached=True, log="")


def _built_together(
    missing: dict[int, BuildPlan], cache: Cache, jobs: int | None, progress: Progress
) -> dict[int, BuiltLibrary | BaseException]:
    from concurrent.futures import ThreadPoolExecutor

    from opbridge.build.toolchains.compiler_processes import Compilers

    compilers = Compilers(jobs)
    # The threads only wait for compilers, whose number has its own bound.
    with cache.step(_about(missing.values())), ThreadPoolExecutor(len(missing)) as threads:
        built = carried(_built)
        try:
            futures = {
                place: threads.submit(built, plan, cache, progress, compilers) for place, plan in missing.items()
            }
            return {at: future.exception() or future.result() for at, future in futures.items()}
        except BaseException:
            compilers.stop()
            raise


def _about(plans: Collection[BuildPlan]) -> str:
    first = next(iter(plans))
    return first.request.about if len(plans) == 1 else f"building {len(plans)} libraries"


def _built(plan: BuildPlan, cache: Cache, progress: Progress, compilers: Compilers | None) -> BuiltLibrary:
    def work(folder: Path) -> Dependencies:
        # A cache hit does not need the modules that compile, and they are slow to import.
        from opbridge.build.toolchains.build_context import BuildContext
        from opbridge.build.toolchains.compilation import compile_library
        from opbridge.build.toolchains.compiler_processes import Compilers

        return compile_library(plan, folder, BuildContext(cache, progress, compilers or Compilers()))

    return _library(plan, cache.fetch(plan.key, work, plan.places, plan.request.about))


def _found(plan: BuildPlan, cache: Cache) -> BuiltLibrary | None:
    entry = cache.find(plan.key, plan.places)
    return _library(plan, entry) if entry else None


def _library(plan: BuildPlan, entry: CacheEntry) -> BuiltLibrary:
    log = (entry.path / LOG).read_text(encoding="utf-8")
    return BuiltLibrary(entry.path / plan.request.output, entry.seconds, entry.hit, log)


def _log_progress(text: str) -> None:
    import logging

    logging.getLogger("opbridge").info(text)
