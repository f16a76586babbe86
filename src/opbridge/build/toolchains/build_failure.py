"""The error of a failed build: each compiler message once, explained for the user, and where the whole log is kept."""

from __future__ import annotations

import os
import re
from pathlib import Path

from opbridge.base.errors import BuildError, OpbridgeError
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import full_disk
from opbridge.build.toolchains.compiler_processes import Outcome
from opbridge.build.toolchains.diagnostics import Project, explain
from opbridge.build.toolchains.interface import INCLUDE, LOG, BuildRequest

_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_KEY_SHOWN = 12


def failure(request: BuildRequest, outcomes: list[Outcome], cache: Cache) -> OpbridgeError:
    """Return the error to raise for a build in which some commands failed, and keep the whole output in the cache.

    The error is a BuildError, or the full-disk error if a compiler ran out of space.
    """
    for outcome in outcomes:
        if outcome.failed and (full := _DISK_FULL.search(outcome.stderr)):
            return full_disk(cache.root, full.group())
    everything = "\n".join(f"$ {' '.join(one.command.argv)}\n{one.stdout}{one.stderr}" for one in outcomes)
    log = cache.keep(LOG, everything)
    theirs = tuple(path for path in request.include_dirs if not path.is_relative_to(INCLUDE))
    project = Project(request.project, request.sources, theirs)
    # An error in a header appears once for every source that includes it; show it once.
    texts = list(dict.fromkeys(explain(outcome, project) for outcome in outcomes if outcome.failed))
    if known := _known_folder(request.project, cache):
        texts = [re.sub(rf"(?<![\w.~/-]){re.escape(str(known))}{os.sep}", "", text) for text in texts]
    if left_out := sum(outcome.is_left_out for outcome in outcomes):
        texts.append(f"{left_out} of {len(outcomes)} sources were not compiled after that")
    return BuildError(
        "\n\n".join((*texts, f"the whole output: opbridge cache log {log.parent.parent.name[:_KEY_SHOWN]}"))
    )


def _known_folder(project: Path, cache: Cache) -> Path | None:
    """Return the folder to strip from file names in messages: the reader's current folder, or None."""
    if cache.holds(project):
        # The source came as text. Its file exists for the compiler only, so its author knows at most the file name.
        return project
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    return here if here != Path(here.anchor) and project.is_relative_to(here) else None
