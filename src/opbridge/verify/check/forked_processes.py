"""Processes that start with their imports done: each is a fork of one process that has imported the modules.

A keeper process is between that process and each fork. Only it can wait for the fork, and it becomes the
parent of every process that the fork leaves running.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.verify.check.child_process import Start
from opbridge.verify.check.process_limits import children_of

_DIE_WITH_PARENT, _TAKES_ORPHANS = 1, 36
_LARGEST_REQUEST = 1 << 16
_REFUSED = b"refused: "


class Forks:
    """Start processes as forks of one that has imported `modules`; that one starts on first use."""

    def __init__(self, modules: Sequence[str], variables: Mapping[str, str]) -> None:
        self._modules, self._variables = tuple(modules), dict(variables)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lock = Lock()

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._socket is not None:
            self._process.kill()
            self._process.wait()
            self._socket.close()

    def begin(self) -> None:
        """Start the process that imports the modules, before it is needed."""
        self._begun()

    def _begun(self) -> socket.socket:
        with self._lock:
            if self._process is not None and self._socket is not None:
                if self._process.poll() is None:
                    return self._socket
                self._socket.close()
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, str(theirs.fileno()), *self._modules],
                    env={**os.environ, **self._variables},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            return self._socket

    def start(self, what: Start) -> _Fork:
        """Start a process and return it.

        Raises:
            ToolchainError: The process that forks has ended, or could not import its modules.
        """
        requests = self._begun()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = json.dumps([what.module, what.folder, what.jobs, dict(what.variables)])
        with theirs:
            files = [theirs.fileno(), what.stdin, what.log, what.pipe]
            with suppress(OSError):
                socket.send_fds(requests, [request.encode()], files)
        return _Fork(ours)


class _Fork:
    def __init__(self, keeper: socket.socket) -> None:
        self._keeper = keeper
        try:
            self.pid = self._heard()
        except BaseException:
            keeper.close()
            raise

    def has_ended(self) -> bool:
        return bool(select.select([self._keeper], [], [], 0)[0])

    def stop(self) -> int:
        """End the process and everything it started; return its exit code."""
        with self._keeper, suppress(OSError):
            self._keeper.shutdown(socket.SHUT_WR)
            return self._heard()
        return -signal.SIGKILL

    def _heard(self) -> int:
        said = self._keeper.recv(_LARGEST_REQUEST)
        if said.startswith(_REFUSED):
            raise ToolchainError(said.removeprefix(_REFUSED).decode())
        if said:
            return int(said)
        raise ToolchainError("the process that starts the others has ended; see its messages above")


def _asked(requests: socket.socket) -> Iterator[tuple[bytes, list[int]]]:
    """Yield each request with its files, which are closed after it was handled."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
        if not request:
            return
        yield request, files
        for file in files:
            os.close(file)


def _refuse(requests: socket.socket, reason: str) -> None:
    """Answer every request for a process with the reason why there is none."""
    for _, files in _asked(requests):
        with socket.socket(fileno=os.dup(files[0])) as asking, suppress(OSError):
            asking.send(_REFUSED + reason.encode()[: _LARGEST_REQUEST - len(_REFUSED)])


def _serve(requests: socket.socket) -> None:
    for request, files in _asked(requests):
        if os.fork() == 0:
            requests.close()
            _keep(json.loads(request), *files)


def _keep(request: list[object], connection: int, *files: int) -> None:
    """Fork the requested process, wait for its end, kill what it left, and report its exit code; never return."""
    libc = ctypes.CDLL(None)
    libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_TAKES_ORPHANS, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told = socket.socket(fileno=connection)
    pid = os.fork()
    if pid == 0:
        told.close()
        _become(request, *files)
    for file in files:
        os.close(file)
    with suppress(OSError):
        told.send(str(pid).encode())
        select.select([told.fileno(), os.pidfd_open(pid)], [], [])
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    _end_children()
    with suppress(OSError):
        told.send(str(code if ended else -signal.SIGKILL).encode())
    os._exit(0)


def _end_children() -> None:
    """Kill everything that a fork left.

    Each such process is a child of its keeper, or becomes one when its own parent ends.
    """
    with suppress(ChildProcessError):
        while True:
            for pid in children_of(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _become(request: list[Any], stdin: int, log: int, pipe: int) -> None:
    """Set up the requested process and run its module; never return."""
    module, folder, jobs, variables = request
    code = 1
    try:
        os.setsid()
        for own, given in ((0, stdin), (1, log), (2, log)):
            os.dup2(given, own)
        os.chdir(folder)
        os.environ.update(variables)
        sys.argv[1:] = [jobs, str(pipe)]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    # Do not use PR_SET_PDEATHSIG here: the thread that started this process may end first. Its requests end anyway.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    requests = socket.socket(fileno=int(sys.argv[1]))
    try:
        with Cache().step("preparing the processes that judge"):
            for name in sys.argv[2:]:
                importlib.import_module(name)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except OpbridgeError as error:
        _refuse(requests, str(error))
    else:
        # Otherwise a collection in a fork would touch, and so copy, the memory of everything that is imported.
        gc.collect()
        gc.freeze()
        _serve(requests)
