"""Asking a framework, in processes that may die: what each operator of a scan comes to."""

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

from opbridge.cache import Cache
from opbridge.errors import ToolchainError
from opbridge.progress import QUIET, detail
from opbridge.scan.model import ScannedOperator, State, Verdict
from opbridge.scan.names import candidates

_PATIENCE = 60.0
"""Seconds for one attempt whose work is small."""
_SLOWER = 100.0
"""How many times PyTorch's seconds an attempt may take besides."""
_START = 300.0
"""Seconds for a framework to be there, which a busy machine needs."""
TITLES = {"mindspore": "MindSpore", "jax": "JAX"}
"""The frameworks that are asked."""


@dataclass
class Answers:
    """What the installed framework makes of each operator, by full name."""

    framework: str = "mindspore"
    version: str = ""
    device: str = ""
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def settle(self, operator: str, verdict: Verdict) -> None:
        """The best place counts; among equals the first, which is nearest to PyTorch."""
        known = self.verdicts.get(operator)
        if known is None or verdict.state.rank > known.state.rank:
            self.verdicts[operator] = verdict


@dataclass(frozen=True)
class OperatorProbe:
    operator: str
    paths: tuple[str, ...]
    """Where in the framework it may be, still to be tried."""
    examples: tuple[str, ...]

    def after(self, path: str) -> OperatorProbe:
        return replace(self, paths=self.paths[self.paths.index(path) + 1 :])


def probe(operators: Iterable[ScannedOperator], framework: str = "mindspore") -> Answers:
    """What a framework makes of the operators of a scan."""
    jobs = [
        OperatorProbe(item.name, candidates(item.name, framework), tuple(map(str, item.examples))) for item in operators
    ]
    return work_off(jobs, framework)


def work_off(jobs: list[OperatorProbe], framework: str = "mindspore") -> Answers:
    found = Answers(framework)
    for job in jobs:
        found.settle(job.operator, Verdict(State.MISSING))
    with Cache().step(f"trying {len(jobs)} operators in {TITLES[framework]}"):
        while jobs:
            jobs = _run(jobs, found)
    return found


def _run(jobs: list[OperatorProbe], found: Answers) -> list[OperatorProbe]:
    """One process, as far as it gets; what is then left for another."""
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
                [sys.executable, "-m", "opbridge.scan.probe", framework, str(path), str(theirs)],
                cwd=folder,  # where MindSpore leaves folders of its own
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
        """What it says until it ends, or has said nothing for too long."""
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
        """How it ended; empty if it did all it should."""
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
