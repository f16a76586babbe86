"""Ends the compilers of a process that was killed: nobody waits for what they write, and each may take gigabytes.

A shell reads which of them begin and end, and at the end of what it reads, which is the end of this process, ends those
that are left.
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
"""Where the shell of a process reads; one that was forked has a shell of its own."""


@contextmanager
def ended_with_us(group: int) -> Iterator[None]:
    """Of a process that leads a group of its own, while it runs."""
    _tell("+", group)
    try:
        yield
    finally:
        _tell("-", group)


def _tell(sign: str, group: int) -> None:
    with suppress(OSError), _guard:
        if os.getpid() not in _watchers:
            _watchers[os.getpid()] = _started()
        os.write(_watchers[os.getpid()], f"{sign} {group}\n".encode())


def _started() -> int:
    reads, writes = os.pipe()
    try:
        silent = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
        # A session of its own, which Ctrl-C does not end.
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
