"""Measure how long to wait for processes, independent of the other load on the machine.

A limit on wall-clock time alone would kill processes on a busy machine that would finish in time on an idle
one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_RUNS_OR_WOULD = b"R"
_BUSIEST = 20.0
"""How many times as long as on an idle machine something may take at most."""
_NANO = 1e-9


@dataclass(frozen=True)
class Thread:
    """A thread's scheduler statistics, in seconds since it began."""

    computed: float
    waited: float
    """The time it waited for a processor."""
    is_ready: bool

    @classmethod
    def read(cls, folder: Path) -> Thread:
        """Read the statistics from a thread's folder in /proc."""
        computed, waited, _ = map(int, (folder / "schedstat").read_bytes().split())
        state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
        return cls(computed * _NANO, waited * _NANO, state == _RUNS_OR_WOULD)

    def since(self, before: Thread) -> Thread:
        """Return the difference from earlier statistics."""
        return Thread(self.computed - before.computed, self.waited - before.waited, self.is_ready)


_BEGUN = Thread(0, 0, False)


@dataclass(frozen=True)
class Sample:
    """The statistics of several threads at one time."""

    at: float
    threads: Mapping[str, Thread]

    @classmethod
    def of(cls, pids: Iterable[int]) -> Sample:
        """Take a sample of all threads of the processes."""
        return cls(time.monotonic(), {name: thread for pid in pids for name, thread in _threads(pid)})

    def counts_since(self, before: Sample) -> float:
        """Return the seconds since an earlier sample, without the busiest thread's wait for a processor."""
        passed = self.at - before.at
        did = [thread.since(before.threads.get(name, _BEGUN)) for name, thread in self.threads.items()]
        if any(one.is_ready for one in did) and not any(one.computed for one in did):
            return 0.0  # the kernel reports a wait only after it is over
        return max(0.0, passed - max((one.waited for one in did), default=0.0))


def _threads(pid: int) -> Iterator[tuple[str, Thread]]:
    """Yield the threads of a process that may end meanwhile."""
    with suppress(OSError):
        for folder in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                yield folder.name, Thread.read(folder)


class Waiting:
    """The time that some processes have had since they last gave a sign of life."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self.begin_anew()

    def begin_anew(self) -> None:
        """Start measuring again.

        The time before the next look is not counted: a look costs more than most signs of life.
        """
        self._last: Sample | None = None
        self._seconds = self._wall = 0.0

    def look(self) -> float:
        """Return the seconds since the last sign of life."""
        now = Sample.of(self._pids())
        self._seconds += now.counts_since(self._last) if self._last else 0.0
        self._wall += now.at - self._last.at if self._last else 0.0
        self._last = now
        # A process can make its own threads wait for each other, so the clock on the wall counts too.
        return max(self._seconds, self._wall / _BUSIEST)
