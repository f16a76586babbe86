"""Builds shared libraries through the cache, whatever the toolchain."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.errors import BuildError, OpbridgeError
from opbridge.toolchains.model import INCLUDE, LOG, BuildRequest, BuiltLibrary, Toolchain
from opbridge.toolchains.table import toolchain_for

if TYPE_CHECKING:
    from opbridge.toolchains.process import Compilers

Progress = Callable[[str], None]


def build(request: BuildRequest, cache: Cache | None = None, on_progress: Progress | None = None) -> BuiltLibrary:
    """The library of a request, built if anything that shapes it changed."""
    return _build(request, cache or Cache(), on_progress or _log_progress, None)


def build_many(
    requests: Sequence[BuildRequest],
    cache: Cache | None = None,
    jobs: int | None = None,
    on_progress: Progress | None = None,
) -> list[BuiltLibrary]:
    """The libraries of several requests, `jobs` compilers at a time; one error tells all that failed."""
    from concurrent.futures import ThreadPoolExecutor

    from opbridge.toolchains.process import Compilers

    cache, progress, compilers = cache or Cache(), on_progress or _log_progress, Compilers(jobs)
    # The threads mostly wait for compilers, whose number has its own bound.
    with ThreadPoolExecutor(max(1, len(requests))) as threads:
        futures = [threads.submit(_build, request, cache, progress, compilers) for request in requests]
        try:
            errors = [error for future in futures if (error := future.exception())]
        except BaseException:
            compilers.stop()
            raise
    if errors:
        raise _all_in_one(errors, len(requests))
    return [future.result() for future in futures]


def inline_source(text: str, name: str, cache: Cache | None = None) -> Path:
    """A file with this text, for errors and debuggers to point at; equal texts share one."""
    return (cache or Cache()).keep(name, text)


def _all_in_one(errors: list[BaseException], asked: int) -> BaseException:
    texts = dict.fromkeys(map(str, errors))
    strange = [error for error in errors if not isinstance(error, OpbridgeError)]
    if strange or len(texts) == 1:
        return (strange or errors)[0]
    return BuildError("\n\n".join((*texts, f"{len(errors)} of {asked} libraries could not be built")))


def _build(request: BuildRequest, cache: Cache, progress: Progress, compilers: Compilers | None) -> BuiltLibrary:
    toolchain = toolchain_for(request.language)
    request = absolute(request)
    _check_sources(request, toolchain)

    def work(folder: Path) -> Dependencies:
        # Compiling takes modules that a hit does not need, and they are slow to import.
        from opbridge.toolchains.compilation import compile_library
        from opbridge.toolchains.process import Compilers

        return compile_library(request, toolchain, folder, cache, progress, compilers or Compilers())

    places = {"project": request.project, "opbridge": INCLUDE}
    entry = cache.fetch(_key(request, toolchain, cache), work, places)
    log = (entry.path / LOG).read_text(encoding="utf-8")
    return BuiltLibrary(entry.path / request.output, entry.seconds, entry.hit, log)


def absolute(request: BuildRequest) -> BuildRequest:
    """The request as a toolchain takes it: independent of the current folder, with opbridge's headers."""

    def full(path: Path) -> Path:
        return Path(os.path.abspath(path))

    sources = tuple(map(full, request.sources))
    return replace(
        request,
        sources=sources,
        include_dirs=(*map(full, request.include_dirs), INCLUDE),
        root=full(request.root) if request.root else replace(request, sources=sources).project,
    )


def _check_sources(request: BuildRequest, toolchain: Toolchain) -> None:
    for source in request.sources:
        if source.suffix not in toolchain.suffixes:
            raise BuildError(
                f"{source}: the {toolchain.name} compiler takes {', '.join(toolchain.suffixes)}, "
                f"not {source.suffix or 'a name without a suffix'}\n  rename the file, or choose the device it is for"
            )
        if not source.is_file():
            raise BuildError(f"{source}: no such file\n  it was to be compiled into {request.output}")


def _key(request: BuildRequest, toolchain: Toolchain, cache: Cache) -> Key:
    """Everything that is known of a build before it starts."""
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
    return key.add("abi", INCLUDE / "opbridge" / "abi.h").key()


def _anywhere(request: BuildRequest) -> BuildRequest:
    """The request with its paths written so that copies of the project elsewhere have the same."""

    def moved(path: Path) -> Path:
        for name, folder in (("@opbridge", INCLUDE), ("@project", request.project)):
            if path.is_relative_to(folder):
                return name / path.relative_to(folder)
        return path

    return replace(
        request,
        sources=tuple(map(moved, request.sources)),
        include_dirs=tuple(map(moved, request.include_dirs)),
        root=Path("@project"),
    )


def _log_progress(text: str) -> None:
    import logging

    logging.getLogger("opbridge").info(text)
