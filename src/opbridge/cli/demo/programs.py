"""Programs that the demo runs as `python -m MODULE`, in processes that start with the frameworks imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from opbridge.base.progress import QUIET
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify.check.child_process import Child, started_by
from opbridge.verify.check.forked_processes import Forks

_PATIENCE = 600.0
_PROGRAM = "opbridge.cli.demo.one_program"
IMPORTED = "OPBRIDGE_DEMO_IMPORTS"
"""The variable that names the packages for `imported`."""


@contextmanager
def frameworks_imported(frameworks: Sequence[str]) -> Iterator[None]:
    """Start all processes inside as forks of one that imports the frameworks once, from now on."""
    packages = ",".join(FRAMEWORKS[name].packages[0] for name in frameworks)
    variables = {**QUIET, "GLOG_v": "3", IMPORTED: packages}
    with Forks(["opbridge.cli.demo.imported"], variables) as forks, started_by(forks.start):
        forks.begin()
        yield


def program(folder: Path, module: str, *words: str) -> Child:
    """Start `python -m MODULE WORDS` in a folder."""
    return Child(_PROGRAM, [str(folder), module, *words], {}, _PATIENCE)


def ended(running: Child) -> tuple[int, str]:
    """Wait for a program, and return its exit code and what it printed."""
    with running:
        for _ in running.messages():
            pass
        running.end()
        return running.stop(), running.log()
