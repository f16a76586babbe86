"""End the compilers of a process that was killed: nobody waits for their results, and each may use gigabytes of memory.

A shell reads from a pipe which compilers start and end. The pipe closes when this process ends; the shell then
kills the compilers that are still running.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SHELL = "/bin/sh"
_WATCH = """
running=
while read -r sign pid; do
  others=
  for one in $running; do [ "$one" = "$pid" ] || others="$others $one"; done
  running=$others
  [ "$sign" = + ] && running="$running $pid"
done
for one in $running; do kill -KILL "-$one"; done 2>/dev/null
"""

_guard = threading.Lock()
_watchers: dict[int, int] = {}
"""The pipe to the watching shell, by process id: a forked process needs its own shell."""


def prepare() -> None:
    """Start the shell before the first compiler, so that little time passes between its start and its announcement."""
    with suppress(OSError), _guard:
        _watcher()


@contextmanager
def ended_with_us(group: int) -> Iterator[None]:
    """Ensure inside the `with` block that a process group is killed if this process dies.

    `group` is the id of a process that leads its own group.
    """
    _tell("+", group)
    try:
        yield
    finally:
        _tell("-", group)


def _tell(sign: str, group: int) -> None:
    with suppress(OSError), _guard:
        os.write(_watcher(), f"{sign} {group}\n".encode())


def _watcher() -> int:
    """Return the pipe to this process's shell, which is started on first use; the caller holds the guard."""
    if os.getpid() not in _watchers:
        _watchers[os.getpid()] = _started()
    return _watchers[os.getpid()]


def _started() -> int:
    reads, writes = os.pipe()
    try:
        silent = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
        # Give the shell its own session, so that Ctrl-C does not end it.
        os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", _WATCH],
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, reads, 0), *silent],
            setsid=True,
        )
    except OSError:
        os.close(writes)
        raise
    finally:
        os.close(reads)
    return writes
