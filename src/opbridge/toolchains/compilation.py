"""The work of a build that the cache does not have: compile, link, and find out what was read."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opbridge.cache import Cache, Dependencies
from opbridge.errors import BuildError, OpbridgeError, ToolchainError
from opbridge.filesystem import full_disk, remove
from opbridge.toolchains.diagnostics import Project, explain
from opbridge.toolchains.model import LOG, BuildRequest, Command, Commands, Toolchain
from opbridge.toolchains.process import Compilers, Outcome

_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")


def compile_library(
    request: BuildRequest,
    toolchain: Toolchain,
    folder: Path,
    cache: Cache,
    progress: Callable[[str], None],
    compilers: Compilers,
) -> Dependencies:
    scratch = folder / "scratch"
    scratch.mkdir()
    commands = toolchain.commands(request, folder)
    for path, text in commands.texts:
        path.write_text(text, encoding="utf-8")

    def run(command: Command) -> Outcome:
        progress(command.about)
        return compilers.run(command, request.project, scratch)

    with ThreadPoolExecutor(len(commands.compiles)) as threads:
        try:
            outcomes = list(threads.map(run, commands.compiles))
        except BaseException:
            compilers.stop()
            raise
    if not any(outcome.failed for outcome in outcomes):
        outcomes.append(run(commands.link))
    if any(outcome.failed for outcome in outcomes):
        raise _failure(request, outcomes, cache)
    for written in (*commands.depfiles, folder / request.output):
        if not written.is_file():
            command = outcomes[-1].command.argv[0]
            raise ToolchainError(f"{command} ended well but did not write {written.name}; is it a C++ compiler?")
    dependencies = _dependencies(request, commands, outcomes[-1], folder)
    (folder / LOG).write_text("".join(outcome.stderr for outcome in outcomes), encoding="utf-8")
    remove(scratch)
    return dependencies


def _failure(request: BuildRequest, outcomes: list[Outcome], cache: Cache) -> OpbridgeError:
    for outcome in outcomes:
        if outcome.failed and (full := _DISK_FULL.search(outcome.stderr)):
            return full_disk(cache.root, full.group())
    everything = "\n".join(f"$ {' '.join(one.command.argv)}\n{one.stdout}{one.stderr}" for one in outcomes)
    log = cache.keep(LOG, everything)
    project = Project(request.project, request.sources, request.include_dirs[:-1])
    texts = [explain(outcome, project) for outcome in outcomes if outcome.failed]
    return BuildError("\n\n".join((*texts, f"the whole output: {log}")))


def _dependencies(request: BuildRequest, commands: Commands, link: Outcome, folder: Path) -> Dependencies:
    found = [
        name for depfile in commands.depfiles for name in _rule_inputs(depfile.read_text(errors="surrogateescape"))
    ]
    # Objects and static libraries become part of the result; a shared library is looked up anew when ours is loaded.
    found += re.findall(r"^\(?([^()\n]+\.[ao])(?=[)\n])", link.stdout, re.MULTILINE)
    files = [request.project / name for name in found]
    outside = [path for path in dict.fromkeys(files) if not path.is_relative_to(folder)]
    return Dependencies(tuple(outside), tuple(_shadows(request, outside)))


def _rule_inputs(rule: str) -> list[str]:
    """The prerequisites of the one rule in a makefile that a compiler wrote."""
    _, _, inputs = rule.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\[ #\\]|\S)+", inputs)
    return [re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words]


def _shadows(request: BuildRequest, files: list[Path]) -> list[Path]:
    """Files that would be found before those that were, once somebody made them.

    This covers the folders of the request; a header that shadows one of the system's is not noticed.
    """
    folders = list(dict.fromkeys((*(source.parent for source in request.sources), *request.include_dirs)))
    shadows = []
    for file in files:
        for position, folder in enumerate(folders):
            if file.is_relative_to(folder):
                shadows += [earlier / file.relative_to(folder) for earlier in folders[:position]]
    return [path for path in dict.fromkeys(shadows) if not path.exists()]
