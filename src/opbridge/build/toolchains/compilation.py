"""The work of a build that is not in the cache: compile, link, and find out which files were read."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.base.progress import carried
from opbridge.build.cache import Dependencies
from opbridge.build.cache.filesystem import remove
from opbridge.build.toolchains.build_context import BuildContext
from opbridge.build.toolchains.build_failure import failure
from opbridge.build.toolchains.build_plan import BuildPlan
from opbridge.build.toolchains.compilation_turns import GivenUpError, Turns
from opbridge.build.toolchains.compiler_processes import Outcome
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.interface import LOG, Command, Commands
from opbridge.build.toolchains.isolated_variables import link
from opbridge.build.toolchains.kernel_parts import place_parts, with_parts
from opbridge.build.toolchains.object_cache import keeps_objects, kept_object
from opbridge.build.toolchains.precompiled_headers import with_fast_headers, with_fuller_headers
from opbridge.build.toolchains.search_folders import system_folders
from opbridge.build.toolchains.slim_header_failures import would_fail_anyway
from opbridge.build.toolchains.undeclared_inputs import dependencies


def compile_library(plan: BuildPlan, folder: Path, context: BuildContext) -> Dependencies:
    """Compile and link the library into `folder`, and return the files that it depends on.

    Try the fastest variant first, and fall back to the library's full headers if that fails.

    Raises:
        OpbridgeError: A compilation or the link failed.
    """
    scratch = folder / "scratch"
    scratch.mkdir()
    plan = with_parts(with_fast_headers(plan, context), scratch)
    attempt = _attempt(plan, folder, context)
    if other := _fallback(attempt, context):
        attempt = _attempt(other, folder, context)
    _check(attempt, folder, context)
    found = _dependencies(attempt, folder, context)
    (folder / LOG).write_text("".join(outcome.stderr for outcome in attempt.outcomes), encoding="utf-8")
    remove(scratch)
    return found


@dataclass(frozen=True)
class _Attempt:
    """What came of one plan."""

    plan: BuildPlan
    commands: Commands
    outcomes: list[Outcome]
    """The outcomes of the compilations, and of the link if all compilations succeeded."""
    is_final: bool
    """Whether a source failed that the full headers would not fix."""

    @property
    def compiled(self) -> bool:
        return len(self.outcomes) > len(self.commands.compiles)

    @property
    def failed_sources(self) -> list[Path]:
        outcomes = zip(self.plan.request.sources, self.outcomes, strict=False)
        return [source for source, outcome in outcomes if outcome.failed]


def _attempt(plan: BuildPlan, folder: Path, context: BuildContext) -> _Attempt:
    """Run the commands of a plan: compile all sources, then link them if all succeeded."""
    commands = plan.toolchain.commands(plan.variant, folder)
    for path, text in commands.texts:
        path.write_text(text, encoding="utf-8")
    turns = Turns(len(commands.compiles), context.progress)
    outcomes = _compiled(plan, commands, folder, context, turns)
    if not any(outcome.failed for outcome in outcomes):
        library, project = folder / plan.request.output, plan.request.project
        outcomes.append(link(commands, library, lambda command: context.run(command, project, folder / "scratch")))
    return _Attempt(plan, commands, outcomes, turns.given_up)


def _compiled(plan: BuildPlan, commands: Commands, folder: Path, context: BuildContext, turns: Turns) -> list[Outcome]:
    """Compile all sources and, for the first kernel in this cache, its shared parts at the same time."""
    in_turn = replace(context, progress=turns.come)
    besides = [folder, *(header.parent for header in plan.headers)]

    def compiled(source: Path, command: Command, rule: Path) -> Outcome:
        if keeps_objects(plan.request):
            return kept_object(plan, source, rule.with_suffix(""), in_turn, besides)
        return in_turn.run(command, plan.request.project, folder / "scratch")

    def compile_source(source: Path, command: Command, rule: Path) -> Outcome:
        try:
            outcome = compiled(source, command, rule)
        except GivenUpError:
            return Outcome.left_out(command)
        turns.end(command.about)
        if outcome.failed and _is_final(plan, source, outcome):
            turns.give_up()
        return outcome

    sources = plan.variant.sources
    with ThreadPoolExecutor(len(commands.compiles) + 1) as threads:
        try:
            parts = threads.submit(carried(place_parts), plan, context, folder / "scratch")
            outcomes = list(threads.map(carried(compile_source), sources, commands.compiles, commands.depfiles))
            parts.result()
        except BaseException:
            context.compilers.stop()
            raise
    return outcomes


def _is_final(plan: BuildPlan, source: Path, failed: Outcome) -> bool:
    """Return whether compiling the source with the full headers could not fix the failure."""
    library = plan.request.library
    return source not in plan.slim or library is None or would_fail_anyway(failed.stderr, library)


def _fallback(attempt: _Attempt, context: BuildContext) -> BuildPlan | None:
    """Return the plan to try next; None if the attempt succeeded or its failure is final."""
    plan = attempt.plan
    if plan.parts and attempt.compiled and attempt.outcomes[-1].failed:
        # Another linker has other messages, and a part may lack something: the usual linker decides.
        return plan.with_request(plan.request)
    if plan.slim and not attempt.compiled and not attempt.is_final:
        # A failure with the slim headers is not final: only the library's own headers decide.
        return with_fuller_headers(plan, attempt.failed_sources, context)
    return None


def _check(attempt: _Attempt, folder: Path, context: BuildContext) -> None:
    """Raise an error if a command failed or did not write its file."""
    request, outcomes = attempt.plan.request, attempt.outcomes
    if any(outcome.failed for outcome in outcomes):
        raise failure(request, outcomes, context.cache)
    for written in (*attempt.commands.depfiles, folder / request.output):
        if not written.is_file():
            command = outcomes[-1].command.argv[0]
            raise ToolchainError(f"{command} ended well but did not write {written.name}; is it a C++ compiler?")


def _dependencies(attempt: _Attempt, folder: Path, context: BuildContext) -> Dependencies:
    request, headers = attempt.plan.request, attempt.plan.headers
    besides = [folder, *(header.parent for header in headers)]
    depfiles = [(depfile, request.project) for depfile in attempt.commands.depfiles]
    depfiles += [(Path(f"{header}.d"), header.parent) for header in headers]
    files = [path for depfile, origin in depfiles for path in files_read(depfile, origin, besides)]
    # Objects and static libraries become part of the result; shared libraries are looked up when the result is loaded.
    linked = re.findall(r"^\(?([^()\n]+\.[ao])(?=[)\n])", attempt.outcomes[-1].stdout, re.MULTILINE)
    archives = [path for name in linked if not (path := request.project / name).is_relative_to(folder)]
    compiled = dependencies(request, files, system_folders(context, folder / "scratch"))
    return replace(compiled, files=tuple(dict.fromkeys([*compiled.files, *archives])))
