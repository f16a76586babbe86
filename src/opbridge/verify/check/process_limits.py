"""Limits for a process that tries kernels, and ways to end everything that it started."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "OPBRIDGE_JOBS_IN"
"""An environment variable of every process below a child; it identifies those that left the child's group."""
FORKS_WITHOUT_END, FILES_CLOSED = 97, 96
"""Exit codes of a child that could not report what a kernel did."""
MOST_PROCESSES = 200
"""The number of processes that a child may have at once (including compilers) and that a kernel may fork."""

_GIB = 1 << 30
_LARGEST_FILE = 4 * _GIB
"""The largest legitimate file is a precompiled header."""
TOO_LARGE = f"it writes a file of more than {_LARGEST_FILE // _GIB} GiB"
TOO_MUCH_MEMORY = "it uses more than half of this machine's memory"
_LARGEST_LOG = 256 << 20
TOO_MUCH_LOG = f"it prints more than {_LARGEST_LOG >> 20} MiB"
_LEAST_MEMORY = 4 * _GIB
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def confine(parent: int) -> None:
    """Limit the calling process, which `parent` started, and the processes it starts."""
    from opbridge._core import end_forks_of_kernels, watch_for_crashes

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, _LARGEST_FILE)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; a kernel that writes without end must die
    if "LD_PRELOAD" not in os.environ:  # a sanitizer takes terabytes of addresses
        _lower(resource.RLIMIT_DATA, _most_memory())
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, let this process be killed
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    end_forks_of_kernels(MOST_PROCESSES, FORKS_WITHOUT_END)
    watch_for_crashes()  # before the check `manners` records the signal handlers


def take_more_than_is_used() -> None:
    """Lift the limit on reserved memory; the parent process then watches how much is used."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def uses_too_much(pids: Iterable[int]) -> bool:
    """Return whether one of the processes uses too much memory, not counting files and shared memory."""
    return any(_memory_of(pid) > _most_memory() for pid in pids)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used; 0 if it is gone."""
    with suppress(OSError):
        used = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def logs_too_much(log: Path) -> bool:
    """Return whether what a child printed takes too much of the disk."""
    return os.stat(log).st_blocks * 512 > _LARGEST_LOG


def _memory_of(pid: int) -> int:
    with suppress(OSError):
        resident, shared = map(int, Path(f"/proc/{pid}/statm").read_text().split()[1:3])
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _most_memory() -> int:
    return max(_LEAST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)


def _lower(limit: int, value: int) -> None:
    _, most = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if most == resource.RLIM_INFINITY else min(value, most), most))


def processes_of(group: int, mark: str) -> list[int]:
    """Return the running processes of a child: its group, and its descendants that left the group."""
    marked = f"{MARK}={mark}".encode()
    return [pid for pid in _processes() if _is_of(pid, group, marked) and not _has_ended(pid)]


def end_all(group: int, mark: str) -> None:
    """Kill a child and everything it started.

    Nobody may have waited for the child yet, so that its process id is still its own.
    """
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    # Processes started while the list is read are found in the next round. The loop ends because all are killed.
    while left := processes_of(group, mark):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> Iterator[int]:
    own = os.getpid()
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own)


def _is_of(pid: int, group: int, marked: bytes) -> bool:
    with suppress(OSError):
        if os.getpgid(pid) == group:
            return True
        return marked in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def children_of(parent: int) -> list[int]:
    """Return the ids of a process's children."""
    return [pid for pid in _processes() if _state_of(pid)[1:] == (str(parent).encode(),)]


def _has_ended(pid: int) -> bool:
    """Return whether a process is gone, or has ended and its parent has not waited for it yet."""
    return _state_of(pid)[:1] in ((b"Z",), (b"X",), ())


def _state_of(pid: int) -> tuple[bytes, ...]:
    """Return a process's state and the id of its parent; empty if it does not exist any more."""
    try:
        return tuple(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:2])
    except OSError:
        return ()
