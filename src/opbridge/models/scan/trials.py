"""Try the operators of a scan in a framework, in processes that may crash."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opbridge.base.errors import ToolchainError
from opbridge.base.progress import QUIET, detail
from opbridge.build.cache import Cache
from opbridge.models.scan.mindspore_names import candidates
from opbridge.models.scan.verdicts import ScannedOperator, State, Verdict

_PATIENCE = 60.0
"""Seconds for one attempt with little work."""
_SLOWER = 100.0
"""An attempt may also take this many times the seconds that PyTorch took."""
_START = 300.0
"""Seconds for a framework to start, with time for a busy machine."""
TITLES = {"mindspore": "MindSpore", "jax": "JAX"}
"""The frameworks that can be tried."""


@dataclass
class Answers:
    """The verdicts of the installed framework on each operator, by full name."""

    framework: str = "mindspore"
    version: str = ""
    device: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def settle(self, operator: str, verdict: Verdict) -> None:
        """Keep the best verdict of an operator; among equals the first, which is most similar to PyTorch."""
        known = self.verdicts.get(operator)
        if known is None or verdict.state.rank > known.state.rank:
            self.verdicts[operator] = verdict


@dataclass(frozen=True)
class OperatorProbe:
    """One operator to try, with the files of its example arguments."""

    operator: str
    paths: tuple[str, ...]
    """The paths in the framework that are still to be tried."""
    examples: tuple[str, ...]

    def after(self, path: str) -> OperatorProbe:
        """Return the probe with the paths that follow a path."""
        return replace(self, paths=self.paths[self.paths.index(path) + 1 :])


def probe(operators: Iterable[ScannedOperator], framework: str = "mindspore") -> Answers:
    """Try the operators of a scan in a framework."""
    jobs = [
        OperatorProbe(item.name, candidates(item.name, framework), tuple(map(str, item.examples))) for item in operators
    ]
    return work_off(jobs, framework)


def work_off(jobs: list[OperatorProbe], framework: str = "mindspore") -> Answers:
    """Try all jobs, starting a new process after each crash."""
    found = Answers(framework)
    for job in jobs:
        found.settle(job.operator, Verdict(State.MISSING))
    with Cache().step(f"trying {len(jobs)} operators in {TITLES[framework]}"):
        while jobs:
            jobs = _run(jobs, found)
    return found


def _run(jobs: list[OperatorProbe], found: Answers) -> list[OperatorProbe]:
    """Run one process as far as it gets; return the jobs that are left for another.

    Raises:
        ToolchainError: The process ended before its first attempt.
    """
    begun: tuple[str, str] | None = None
    with tempfile.TemporaryDirectory(prefix="opbridge-probe-") as folder:
        child = _Child(jobs, folder, found.framework)
        for said in child.messages():
            if "patience" in said:
                continue
            if "version" in said:
                found.version, found.device = said["version"], said["device"]
                continue
            path = said["path"]
            if said["state"] == "begun":
                begun = said["operator"], path
                detail(said["operator"])
            else:
                begun = None
                found.settle(said["operator"], _verdict(said))
        how = child.end()
    if not how:
        return []
    if begun is None:
        raise ToolchainError(
            f"{TITLES[found.framework]} cannot be tried here: {how}\n"
            f"  see whether `python -c 'import {found.framework}'` runs"
        )
    operator, path = begun
    found.settle(operator, Verdict(State.FAILS, path, how))
    place = [job.operator for job in jobs].index(operator)
    return [jobs[place].after(path), *jobs[place + 1 :]]


def _verdict(said: dict[str, Any]) -> Verdict:
    return Verdict(State(said["state"]), said["path"], said.get("reason", ""), said.get("form"))


class _Child:
    def __init__(self, jobs: list[OperatorProbe], folder: str, framework: str) -> None:
        path = Path(folder, "jobs.json")
        path.write_text(json.dumps([vars(job) for job in jobs]))
        self._log = Path(folder, "stderr")
        self._pipe, theirs = os.pipe()
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "opbridge.models.scan.trial_process", framework, str(path), str(theirs)],
                cwd=folder,  # MindSpore writes folders into the current folder
                env={**os.environ, **QUIET, "GLOG_v": "3"},
                pass_fds=[theirs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        os.close(theirs)
        self._silent = False
        self._patience = _START

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages of the process until it ends, or is silent for too long."""
        unread = b""
        while True:
            if not select.select([self._pipe], [], [], self._patience)[0]:
                self._silent = True
                return
            read = os.read(self._pipe, 1 << 16)
            if not read:
                return
            *lines, unread = (unread + read).split(b"\n")
            for said in map(json.loads, lines):
                self._patience = _PATIENCE + _SLOWER * said.get("patience", 0.0)
                yield said

    def end(self) -> str:
        """Return how the process ended; empty if it succeeded."""
        os.close(self._pipe)
        if self._silent:
            self._process.kill()
        code = self._process.wait()
        if self._silent:
            return f"no answer in {self._patience:.0f} s"
        if code < 0:
            return f"the process dies of {signal.Signals(-code).name}"
        last = self._log.read_text(errors="replace").strip().rpartition("\n")[2]
        return f"it ends with exit code {code}: {last}" if code else ""
