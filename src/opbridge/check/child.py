"""Processes of their own for what a kernel may end: the side that starts one, and the side that works in it.

The child writes one JSON line for everything it has to say to a pipe, so that whoever started it knows what it was at
when it ended.  Its jobs are a pickle of the process that started it.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_STARTING = 600.0
"""Seconds for kernels and adapters to be compiled and a framework to start, before the first job is begun."""
NO_ANSWER = "no answer"

Say = Callable[..., None]
"""Sends its keywords to whoever started the process."""


def serve(work: Callable[[list[Any], Say], None]) -> None:
    """What a child's module runs: `python -m MODULE JOBS PIPE`."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(int(sys.argv[2]), "w", buffering=1) as report, open(sys.argv[1], "rb") as file:

        def say(**fields: object) -> None:
            report.write(json.dumps(fields) + "\n")

        sys.path[:] = pickle.load(file)
        jobs: list[Any] = pickle.load(file)
        say(ready=True)
        if jobs:
            work(jobs, say)


class Child:
    """A process of `python -m MODULE`, whose module serves the jobs it is given."""

    def __init__(self, module: str, jobs: Sequence[Any], variables: Mapping[str, str], patience: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="opbridge-jobs-")
        folder = self._folder.name
        path = Path(folder, "jobs")
        with open(path, "wb") as file:
            # What the user's own modules, the reference's above all, are found by.
            pickle.dump([entry or os.getcwd() for entry in sys.path], file)
            pickle.dump(list(jobs), file)
        self._log = Path(folder, "log")
        self._patience = patience
        self._pipe, theirs = os.pipe()
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, str(path), str(theirs)],
                cwd=folder,  # where MindSpore leaves folders of its own
                env={**os.environ, "GLOG_v": "3", **variables},
                pass_fds=[theirs],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(theirs)
        self._silent = False

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._pipe)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def messages(self) -> Iterator[dict[str, Any]]:
        """What it says until it ends, or has said nothing for too long."""
        unread, patience = b"", _STARTING
        while True:
            if not select.select([self._pipe], [], [], patience)[0]:
                self._silent = True
                return
            read = os.read(self._pipe, 1 << 16)
            if not read:
                return
            *lines, unread = (unread + read).split(b"\n")
            for said in map(json.loads, lines):
                if "begun" in said:
                    patience = self._patience
                yield said

    def end(self) -> str:
        """How it ended; empty if it did all it should."""
        if self._silent:
            self._process.kill()
        code = self._process.wait()
        if self._silent:
            return f"{NO_ANSWER} in {self._patience:g} s"
        if code < 0:
            return f"the process dies of {signal.Signals(-code).name}"
        return f"the process ends with exit code {code}" if code else ""

    def log(self) -> str:
        return self._log.read_text(errors="replace")
