"""The state that a kernel shares with its whole process, and what is wrong with changing it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from opbridge._core import floating_point_changes

_LIBRARIES_OWN = ("GOMP_", "KMP_", "MKL_", "OMP_")
"""Prefixes of the variables with which parallel runtimes detect each other."""
_SIZE_OF_ACTION = 256
_LC_ALL = 6


@dataclass(frozen=True)
class Surroundings:
    """The state that exists once per process."""

    files: Mapping[int, tuple[int, int]]
    """The device and inode of each open descriptor."""
    folder: str
    environment: Mapping[str, str]
    handlers: Mapping[int, bytes]
    blocked: frozenset[int]
    locale: str
    mask: str
    """The umask: the permissions that new files lack."""
    modes: int
    """How often the floating-point mode had to be restored."""
    started: tuple[int, int]
    """The number of child processes, and the page faults of those that have ended."""

    @classmethod
    def now(cls) -> Surroundings:
        """Return the current state."""
        return cls(
            open_files(),
            os.readlink("/proc/self/cwd"),
            _environment(),
            {number: _handler(number) for number in signal.valid_signals()},
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            _library().setlocale(_LC_ALL, None).decode(errors="replace"),
            _status("Umask"),
            floating_point_changes(),
            (len(_children()), resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt),
        )


def differences(before: Surroundings, after: Surroundings) -> Iterator[str]:
    """Yield a verb phrase for each difference, with what to do about it."""
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old != new:
            yield from _TOLD[field.name](old, new)


def _closed(before: Mapping[int, object], after: Mapping[int, object]) -> Iterator[str]:
    gone = [number for number, file in before.items() if after.get(number) != file]
    if gone:
        shown = ", ".join(map(str, gone))
        yield f"closes files that it did not open (descriptor {shown}); close what it opened alone"


def _moved(before: str, after: str) -> Iterator[str]:
    yield f"changes the current folder from {before} to {after}, which is the whole process's; use absolute paths"


def _set(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    own = sorted(name for name in names if not name.startswith(_LIBRARIES_OWN))
    if own:
        shown = ", ".join(f"{name}={after[name]}" if name in after else f"{name} is gone" for name in own)
        yield f"changes the environment ({shown}), which other threads may be reading; take an attribute instead"


def _handled(before: Mapping[int, bytes], after: Mapping[int, bytes]) -> Iterator[str]:
    shown = ", ".join(_name(number) for number in before if before[number] != after[number])
    yield f"changes the handler of {shown}, which is its caller's; put it back, or do without"


def _blocks(before: frozenset[int], after: frozenset[int]) -> Iterator[str]:
    shown = ", ".join(map(_name, sorted(before ^ after)))
    yield f"changes whether {shown} is blocked in its caller's thread; put it back"


def _localised(before: str, after: str) -> Iterator[str]:
    yield f"changes the locale from {before} to {after}, by which the process writes numbers; use uselocale"


def _masked(before: str, after: str) -> Iterator[str]:
    yield f"changes the umask from {before} to {after}, by which the whole process makes files; put it back"


def _computes(before: int, after: int) -> Iterator[str]:
    yield (
        "changes the floating-point mode of its caller's thread (how it rounds, what denormals become, what traps); "
        "put it back, by fegetenv and fesetenv"
    )


def _starts(before: tuple[int, int], after: tuple[int, int]) -> Iterator[str]:
    yield (
        "starts a process; after a fork() the copy comes back into the caller's program too, and only the thread that "
        "called is in it: use threads"
    )


_TOLD: Mapping[str, Callable[[Any, Any], Iterator[str]]] = {
    "files": _closed,
    "folder": _moved,
    "environment": _set,
    "handlers": _handled,
    "blocked": _blocks,
    "locale": _localised,
    "mask": _masked,
    "modes": _computes,
    "started": _starts,
}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def open_files() -> dict[int, tuple[int, int]]:
    """Return the device and inode of each open file descriptor."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the descriptor of the listing itself is closed by now
            file = os.fstat(int(name))
            found[int(name)] = (file.st_dev, file.st_ino)
    return found


def _environment() -> dict[str, str]:
    """Return the environment as C sees it, because Python keeps a copy."""
    place = ctypes.POINTER(ctypes.c_char_p).in_dll(_library(), "environ")
    found = {}
    for i in range(1 << 20):
        entry = place[i] if place else None
        if entry is None:
            break
        name, _, value = entry.decode(errors="replace").partition("=")
        found[name] = value
    return found


def _handler(number: int) -> bytes:
    """Return a signal's handler and the signals it blocks; the rest of the C struct is not always initialized."""
    action = ctypes.create_string_buffer(_SIZE_OF_ACTION)
    _library().sigaction(number, None, action)
    return action.raw[:16]


def _children() -> list[str]:
    found = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as file:
            found += file.read().split()
    return found


def _status(field: str) -> str:
    with open("/proc/self/status") as file:
        return next((line.split()[1] for line in file if line.startswith(f"{field}:")), "")


def _library() -> Any:
    library = ctypes.CDLL(None)
    library.setlocale.restype = ctypes.c_char_p
    return library
