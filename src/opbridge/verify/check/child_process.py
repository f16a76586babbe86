"""Separate processes for work that a kernel may crash: the side that starts one, and the side that works in it.

The child writes each message as one JSON line to a pipe. So its parent knows what it was doing when it ended.
Its jobs are a pickle from the process that started it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from opbridge.base.progress import DONE, QUIET, STOPPED
from opbridge.build.cache import Cache
from opbridge.verify.check.child_messages import Lines, NonsenseError, as_line
from opbridge.verify.check.process_limits import (
    FILES_CLOSED,
    FORKS_WITHOUT_END,
    MARK,
    MOST_PROCESSES,
    TOO_LARGE,
    TOO_MUCH_LOG,
    TOO_MUCH_MEMORY,
    confine,
    end_all,
    logs_too_much,
    processes_of,
    processor_seconds,
    uses_too_much,
)
from opbridge.verify.check.timeouts import Waiting

_STARTING = 600.0
"""Seconds for kernels and adapters to be compiled and a framework to start, before a job is begun."""
_STARTING_LONG = 10.0
"""Seconds before a progress message: a framework's import takes less, the build of its adapter more."""
_LOOK = 1.0
"""Seconds between two checks of the processes that the child has started."""
_MOST_ORDERS = 1 << 20
"""The bytes that a child may be told before it listens."""
_TAIL = 1 << 16
"""The bytes of the log that are read: its end."""
_GLANCE = 0.01
"""Seconds between two checks whether a child that has sent all its messages has ended."""
NO_ANSWER = "no answer"
_TOO_MANY = f"it starts more than {MOST_PROCESSES} processes"
_ENDS = {FORKS_WITHOUT_END: _TOO_MANY, FILES_CLOSED: "it closes files that it did not open"}

Say = Callable[..., None]
"""A function that sends its keyword arguments to the parent process."""


def serve(work: Callable[[list[Any], Say], None]) -> None:
    """Run the jobs in a child process; a child's module calls this for `python -m MODULE JOBS PIPE`."""
    own, pipe = os.getpid(), int(sys.argv[2])
    confine(os.getppid())
    with open(sys.argv[1], "rb") as file:

        def say(**fields: object) -> None:
            if os.getpid() != own:
                os._exit(0)  # a copy of this process, forked by a kernel
            try:
                os.write(pipe, as_line(fields))
            except OSError:
                os._exit(FILES_CLOSED)

        sys.path[:] = pickle.load(file)
        jobs: list[Any] = pickle.load(file)
        say(ready=True)
        if jobs:
            work(jobs, say)


@dataclass(frozen=True)
class Start:
    """The parameters of a process to start: its module, its folder, its jobs, and its open files."""

    module: str
    folder: str
    jobs: str
    """The file with the jobs."""
    variables: Mapping[str, str]
    stdin: int
    log: int
    pipe: int


class Process(Protocol):
    """A running process that leads a process group."""

    pid: int

    def has_ended(self) -> bool:
        """Return whether the process has ended."""

    def stop(self) -> int:
        """End the process and everything it started; return its exit code, or minus the signal that killed it."""


class _Spawned:
    def __init__(self, what: Start) -> None:
        self._folder = what.folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", what.module, what.jobs, str(what.pipe)],
            cwd=what.folder,  # MindSpore writes its own folders into the current one
            env={**os.environ, **what.variables},
            pass_fds=[what.pipe],
            start_new_session=True,
            stdin=what.stdin,
            stdout=what.log,
            stderr=what.log,
        )
        self.pid = self._process.pid

    def has_ended(self) -> bool:
        """Return whether the process has ended, without collecting its exit code.

        Once that is collected, the process id may belong to another process.
        """
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stop(self) -> int:
        end_all(self.pid, self._folder)
        return self._process.wait()


_ways: list[Callable[[Start], Process]] = [_Spawned]
"""How processes start unless a caller says it; the last one counts."""


@contextmanager
def started_by(start: Callable[[Start], Process]) -> Iterator[None]:
    """Start processes by `start` inside, in all threads.  No sanitizer works in such processes, if they are forks."""
    _ways.append(start)
    try:
        yield
    finally:
        _ways.remove(start)


def told_more() -> Callable[[], Any]:
    """Return a function that waits in the child for the next message from `Child.tell`.

    From now on, the child's standard input is empty.
    """
    orders = os.fdopen(os.dup(0), "rb")
    with open(os.devnull) as empty:
        os.dup2(empty.fileno(), 0)
    return lambda: pickle.load(orders)


@dataclass(frozen=True)
class Starting:
    """The progress message before a child's first work."""

    about: str
    until: str = "begun"
    """The message that ends it."""
    patience: float = _STARTING_LONG
    """Seconds before a progress message."""


def _orders() -> tuple[int, int]:
    """Create a pipe that holds all messages for a child, so that writing to it never waits."""
    heard, orders = os.pipe()
    with suppress(OSError):  # beyond the user's share of memory for pipes
        fcntl.fcntl(orders, fcntl.F_SETPIPE_SZ, _MOST_ORDERS)
    os.set_blocking(orders, False)
    return heard, orders


class Child:
    """A process that runs a module with the jobs it is given."""

    def __init__(
        self,
        module: str,
        jobs: Sequence[object],
        variables: Mapping[str, str],
        patience: float,
        start: Callable[[Start], Process] | None = None,
        *,
        is_told_more: bool = False,
        starting: Starting | None = None,
    ) -> None:
        self._patience = patience
        self._code: int | None = None
        self._ended_for = ""
        with ExitStack() as made:
            self._folder = made.enter_context(tempfile.TemporaryDirectory(prefix="opbridge-jobs-"))
            path = Path(self._folder, "jobs")
            with open(path, "wb") as file:
                # The search path of the user's own modules, especially that of the reference.
                pickle.dump([entry or os.getcwd() for entry in sys.path], file)
                pickle.dump(list(jobs), file)
            self._log = Path(self._folder, "log")
            self._pipe, said = os.pipe()
            made.callback(os.close, self._pipe)
            heard, self._orders = _orders() if is_told_more else (os.open(os.devnull, os.O_RDONLY), -1)
            made.callback(self._give_no_more_orders)
            try:
                with open(self._log, "wb") as log:
                    variables = {"GLOG_v": "3", **QUIET, **variables, MARK: self._folder}
                    start = start or _ways[-1]
                    self._process = start(Start(module, self._folder, str(path), variables, heard, log.fileno(), said))
            finally:
                os.close(said)
                os.close(heard)
            self._made = made.pop_all()
        self._silence = Waiting(self._processes)
        self._starting = starting
        self._start = Cache().begin(starting.about, starting.patience) if starting else None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._made.close()

    def _give_no_more_orders(self) -> None:
        if self._orders >= 0:
            os.close(self._orders)

    def _has_started(self, how: str) -> None:
        started, self._start = self._start, None
        if started:
            started.end(how)

    def stop(self) -> int:
        """End the process and everything it started; return its exit code."""
        self._has_started(STOPPED)
        if self._code is None:
            self._code = self._process.stop()
        return self._code

    def tell(self, more: object) -> None:
        """Send a message to the child, which receives it through `told_more`.

        Never wait for the child: if it does not read its messages, its time limit ends it.
        """
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._orders, pickle.dumps(more))
        self._silence.begin_anew()

    def processor_seconds(self) -> float:
        """Return the processor time that the child has used so far, without what it started."""
        return processor_seconds(self._process.pid)

    def _processes(self) -> list[int]:
        return processes_of(self._process.pid, self._folder)

    def messages(self, stop: Event | None = None) -> Iterator[dict[str, Any]]:
        """Yield the child's messages until it ends or `stop` is set.

        Stop early if it sends nothing for too long, or uses too many processes or too much memory.
        """
        lines, patience, looked = Lines(), _STARTING, time.monotonic()
        while not self._ended_for and not (stop and stop.is_set()):
            speaks = bool(select.select([self._pipe], [], [], min(_LOOK, patience))[0])
            # The pipe may stay open after the child has ended, because other processes may hold it.
            if not speaks and self._process.has_ended():
                return
            if not speaks or time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                self._ended_for = self._exceeded(patience)
                continue
            read = os.read(self._pipe, 1 << 16)
            if not read:
                return
            try:
                for said in lines.read(read):
                    self._silence.begin_anew()  # at whole messages alone: a line without an end is not a sign of life
                    if "begun" in said:
                        patience = self._patience
                    elif "preparing" in said:
                        patience = _STARTING
                    if self._starting and self._starting.until in said:
                        self._has_started(DONE)
                    yield said
            except NonsenseError as error:
                self._ended_for = str(error)
                return

    def _exceeded(self, patience: float) -> str:
        """Return the limit that the child exceeds; empty if it exceeds none."""
        if self._silence.look() > patience:
            return f"{NO_ANSWER} in {self._patience:g} s"
        if len(processes := self._processes()) > MOST_PROCESSES:
            return _TOO_MANY
        if uses_too_much(processes):
            return TOO_MUCH_MEMORY
        return TOO_MUCH_LOG if logs_too_much(self._log) else ""

    def end(self) -> str:
        """Wait until the child ends, and return how it ended; empty if it did everything it should."""
        self._silence.begin_anew()
        looked = time.monotonic()
        while not self._ended_for and not self._process.has_ended():
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                if self._silence.look() > self._patience:
                    self._ended_for = f"{NO_ANSWER} in {self._patience:g} s"
            time.sleep(_GLANCE)
        code = self.stop()
        if self._ended_for or code in _ENDS:
            return self._ended_for or _ENDS[code]
        if code == -signal.SIGXFSZ:
            return TOO_LARGE
        if code < 0:
            return f"the process dies of {signal.Signals(-code).name}"
        return f"the process ends with exit code {code}" if code else ""

    def log(self) -> str:
        """Return the end of the child's standard output and standard error."""
        with open(self._log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return file.read(_TAIL).replace(b"\0", b"").decode(errors="replace")
