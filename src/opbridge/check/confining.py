"""What keeps a process that tries kernels out from doing harm: limits, and an end of all that it started."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "OPBRIDGE_JOBS_IN"
"""The variable that every process below a child has, by which one that left its group is found."""
FORKS_WITHOUT_END, FILES_CLOSED = 97, 96
"""Exit codes of a child that was kept from saying what a kernel did."""
MOST_PROCESSES = 200
"""That a child may have at a time, compilers among them, and that a kernel may fork in its life."""

_GIB = 1 << 30
_LARGEST_FILE = 4 * _GIB
"""A precompiled header is the largest that is written in earnest."""
TOO_LARGE = f"it writes a file of more than {_LARGEST_FILE // _GIB} GiB"
TOO_MUCH_MEMORY = "it uses more than half of this machine's memory"
_LEAST_MEMORY = 4 * _GIB
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def confine(parent: int) -> None:
    """The calling process, which `parent` started, and those it starts."""
    from opbridge._core import end_forks_of_kernels, watch_for_crashes

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, _LARGEST_FILE)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and who writes without end may do so too
    if "LD_PRELOAD" not in os.environ:  # a sanitizer takes terabytes of addresses
        _lower(resource.RLIMIT_DATA, _most_memory())
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory ends all the same, this process is to end
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    end_forks_of_kernels(MOST_PROCESSES, FORKS_WITHOUT_END)
    watch_for_crashes()  # before anybody looks at what handlers there are


def take_more_than_is_used() -> None:
    """From now on memory may be taken without end: who started this process looks at how much of it is used."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def uses_too_much(pids: Iterable[int]) -> bool:
    """Whether one of them has more memory than it should, that of files and shared memory left out."""
    return any(_memory_of(pid) > _most_memory() for pid in pids)


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
    """Those that run of a child, which leads the group, and of what it started and has left the group."""
    marked = f"{MARK}={mark}".encode()
    return [pid for pid in _processes() if _is_of(pid, group, marked) and not _has_ended(pid)]


def end_all(group: int, mark: str) -> None:
    """A child, which nobody has waited for, so that its number is its own, and all that came of it."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    # What is started while the list is read is found in the next round; it cannot go on for ever, as all are killed.
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
    return [pid for pid in _processes() if _state_of(pid)[1:] == (str(parent).encode(),)]


def _has_ended(pid: int) -> bool:
    """Whether it is gone, or waits for its parent to ask how it ended."""
    return _state_of(pid)[:1] in ((b"Z",), (b"X",), ())


def _state_of(pid: int) -> tuple[bytes, ...]:
    """Its state and its parent; nothing where there is no such process any more."""
    try:
        return tuple(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:2])
    except OSError:
        return ()
