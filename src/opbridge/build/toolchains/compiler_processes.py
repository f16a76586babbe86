"""Run compilers: a limited number at a time, each with a time limit, all stopped when the caller gives up."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains.interface import Command
from opbridge.build.toolchains.orphaned_compilers import ended_with_us, prepare

_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True)
class Outcome:
    """The result of one command."""

    command: Command
    code: int
    """The exit code, or minus the signal that ended the process."""
    stdout: str
    stderr: str
    timed_out: bool = False
    is_left_out: bool = False
    """Whether the command was never run."""

    @classmethod
    def left_out(cls, command: Command) -> Outcome:
        """Return the outcome of a command that was never run."""
        return cls(command, 0, "", "", is_left_out=True)

    @classmethod
    def of(cls, command: Command, code: int, stdout: bytes, stderr: bytes, timed_out: bool = False) -> Outcome:
        """Return the outcome of a finished process.

        Standard output contains paths, so its bytes are preserved. Standard error is for people, so invalid bytes are
        replaced.
        """
        paths = stdout.decode("utf-8", "surrogateescape")
        return cls(command, code, paths, stderr.decode("utf-8", "replace"), timed_out)

    @property
    def failed(self) -> bool:
        """Whether the command returned an error or timed out."""
        return self.code != 0 or self.timed_out


class Compilers:
    """The compiler processes of one user request, and the limits that they share."""

    def __init__(self, jobs: int | None = None) -> None:
        self._slots = threading.BoundedSemaphore(jobs or processors())
        self._guard = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._timeout = _timeout()

    def run(self, command: Command, folder: Path, scratch: Path, begins: Callable[[], None]) -> Outcome:
        """Run a command in `folder` and return its outcome; wait for a free slot first.

        `begins` is called when the command gets its slot. With many sources, that may be long after this call.
        """
        with self._slots:
            begins()
            process = self._start(command, folder, scratch)
            try:
                with ended_with_us(process.pid):
                    stdout, stderr = process.communicate(timeout=self._timeout)
                return Outcome.of(command, process.returncode, stdout, stderr)
            except subprocess.TimeoutExpired:
                _kill(process)
                stdout, stderr = process.communicate()
                return Outcome.of(command, process.returncode, stdout, stderr, timed_out=True)
            except BaseException:
                _kill(process)
                process.communicate()
                raise
            finally:
                with self._guard:
                    self._running.discard(process)

    def stop(self) -> None:
        """Kill the running commands and prevent new ones from starting."""
        with self._guard:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def _start(self, command: Command, folder: Path, scratch: Path) -> subprocess.Popen[bytes]:
        # The hints match English messages. Temporary files go where they are removed even if this process is killed.
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(scratch)}
        prepare()
        with self._guard:
            if self._stopped:
                raise ToolchainError(f"{command.about} was called off")
            try:
                # A new session makes the driver and its compiler passes one group, which can be killed together.
                process = subprocess.Popen(
                    command.argv,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise ToolchainError(f"{command.argv[0]} cannot be run: {error.strerror}") from error
            self._running.add(process)
            return process


def processors() -> int:
    """Return the number of processors that this process may use; a container may allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _timeout() -> float:
    text = os.environ.get("OPBRIDGE_BUILD_TIMEOUT", "")
    try:
        return float(text) if text else _TIMEOUT_SECONDS
    except ValueError:
        raise ToolchainError(f"OPBRIDGE_BUILD_TIMEOUT is {text!r}; expected a number of seconds") from None
