"""Cache the object of each source of a large library, so that editing one source recompiles only that one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Dependencies, KeyBuilder
from opbridge.build.cache.filesystem import remove
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_plan import BuildPlan
from opbridge.build.toolchains.compiler_processes import Outcome
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import LOG, BuildRequest
from opbridge.build.toolchains.search_folders import system_folders
from opbridge.build.toolchains.undeclared_inputs import dependencies

_COMPILED_EACH_BY_ITSELF = ("c++", "cuda", "cuda-twin")
_OBJECT = "source.o"


class _NotCompiledError(Exception):
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


def keeps_objects(request: BuildRequest) -> bool:
    """Return whether to cache an object for each source.

    That is so if compiling a source takes long, as with a large library's headers, and needs no other source.  A
    library of opbridge itself is linked with one runtime of a twin or another.
    """
    if request.built_for == ():
        return True
    many = len(request.sources) > 1
    return many and request.library is not None and request.language in _COMPILED_EACH_BY_ITSELF


def kept_object(plan: BuildPlan, source: Path, target: Path, context: BuildContext, besides: Sequence[Path]) -> Outcome:
    """Put the object of one source and its makefile rule where the link expects them.

    The command says enough about files in the folders `besides`.
    """
    request, toolchain = plan.variant, plan.toolchain
    alone = replace(request, sources=(source,), root=request.project, one_of_several=True)
    (command,) = toolchain.commands(alone, Path("@build")).compiles
    key = KeyBuilder("object").add("project", str(request.project)).add("source", str(source), source)
    key.add("toolchain", *toolchain.identity(alone, context.cache)).add("command", *command.argv)
    key.add("library", *(request.library.identity if request.library else ()))

    def work(folder: Path) -> Dependencies:
        scratch = folder / "scratch"
        scratch.mkdir()
        commands = toolchain.commands(alone, folder)
        outcome = context.run(commands.compiles[0], request.project, scratch)
        if outcome.failed:
            raise _NotCompiledError(outcome)
        (rule,) = commands.depfiles
        if not rule.is_file():
            raise ToolchainError(f"{command.argv[0]} ended well but did not write {rule.name}; is it a C++ compiler?")
        rule.with_suffix("").rename(folder / _OBJECT)
        rule.rename(folder / f"{_OBJECT}.d")
        system = system_folders(context, scratch)
        remove(scratch)
        (folder / LOG).write_text(outcome.stderr, encoding="utf-8")
        files = files_read(folder / f"{_OBJECT}.d", request.project, besides)
        return dependencies(alone, files, system)

    try:
        entry = context.cache.fetch(key.key(), work, about=command.about).path
    except _NotCompiledError as failure:
        return failure.outcome
    for written, place in ((_OBJECT, target), (f"{_OBJECT}.d", Path(f"{target}.d"))):
        shutil.copyfile(entry / written, place)
    return Outcome(command, 0, "", (entry / LOG).read_text(encoding="utf-8"))
