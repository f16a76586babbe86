"""Processes of their own for what a kernel may end: the side that starts one, and the side that works in it.

The child writes one JSON line for everything it has to say to a pipe, so that whoever started it knows what it was at
when it ended.  Its jobs are a pickle of the process that started it.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from opbridge.check.confining import (
    FILES_CLOSED,
    FORKS_WITHOUT_END,
    MARK,
    MOST_PROCESSES,
    TOO_LARGE,
    confine,
    end_all,
    processes_of,
)

_STARTING = 600.0
"""Seconds for kernels and adapters to be compiled and a framework to start, before the first job is begun."""
_LOOK = 1.0
"""Seconds between two looks at what the child has started."""
_GLANCE = 0.01
"""Seconds between two looks at whether one that has said all has ended."""
NO_ANSWER = "no answer"
_TOO_MANY = f"it starts more than {MOST_PROCESSES} processes"
_ENDS = {FORKS_WITHOUT_END: _TOO_MANY, FILES_CLOSED: "it closes files that it did not open"}

Say = Callable[..., None]
"""Sends its keywords to whoever started the process."""


def serve(work: Callable[[list[Any], Say], None]) -> None:
    """What a child's module runs: `python -m MODULE JOBS PIPE`."""
    own, pipe = os.getpid(), int(sys.argv[2])
    confine(os.getppid())
    with open(sys.argv[1], "rb") as file:

        def say(**fields: object) -> None:
            if os.getpid() != own:
                os._exit(0)  # a copy that a kernel made of this process
            try:
                os.write(pipe, (json.dumps(fields) + "\n").encode())
            except OSError:
                os._exit(FILES_CLOSED)

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
                env={**os.environ, "GLOG_v": "3", **variables, MARK: folder},
                pass_fds=[theirs],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(theirs)
        self._ended_for = ""

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        os.close(self._pipe)
        self._folder.cleanup()

    def stop(self) -> None:
        """Ends it and all that it has started."""
        if self._process.returncode is None:
            end_all(self._process.pid, self._folder.name)
            self._process.wait()

    def messages(self, stop: Event | None = None) -> Iterator[dict[str, Any]]:
        """What it says until it ends, has said nothing for too long, or has too many processes; or nobody asks more."""
        unread, patience, silent_since = b"", _STARTING, time.monotonic()
        while not self._ended_for and not (stop and stop.is_set()):
            if not select.select([self._pipe], [], [], min(_LOOK, patience))[0]:
                # Its end is not always that of the pipe, which others may hold.
                if self._has_ended():
                    return
                if time.monotonic() - silent_since > patience:
                    self._ended_for = f"{NO_ANSWER} in {self._patience:g} s"
                elif len(processes_of(self._process.pid, self._folder.name)) > MOST_PROCESSES:
                    self._ended_for = _TOO_MANY
                continue
            read = os.read(self._pipe, 1 << 16)
            if not read:
                return
            silent_since = time.monotonic()
            *lines, unread = (unread + read).split(b"\n")
            for said in map(json.loads, lines):
                if "begun" in said:
                    patience = self._patience
                yield said

    def _has_ended(self) -> bool:
        """Without asking for its exit code, behind which its number might be another's."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> str:
        """How it ended; empty if it did all it should."""
        waiting_since = time.monotonic()
        while not self._ended_for and not self._has_ended():
            if time.monotonic() - waiting_since > self._patience:
                self._ended_for = f"{NO_ANSWER} in {self._patience:g} s"
            time.sleep(_GLANCE)
        self.stop()
        code = self._process.returncode
        if self._ended_for or code in _ENDS:
            return self._ended_for or _ENDS[code]
        if code == -signal.SIGXFSZ:
            return TOO_LARGE
        if code < 0:
            return f"the process dies of {signal.Signals(-code).name}"
        return f"the process ends with exit code {code}" if code else ""

    def log(self) -> str:
        return self._log.read_text(errors="replace")
