"""How long to wait for processes, whatever else the machine has to do.

Who waits by the clock ends on a busy machine what would have ended well on an idle one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_RUNS_OR_WOULD = b"R"
_NANO = 1e-9


@dataclass(frozen=True)
class Thread:
    """What the scheduler says of one, in seconds since it began."""

    computed: float
    waited: float
    """For a processor."""
    is_ready: bool

    @classmethod
    def read(cls, folder: Path) -> Thread:
        computed, waited, _ = map(int, (folder / "schedstat").read_bytes().split())
        state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
        return cls(computed * _NANO, waited * _NANO, state == _RUNS_OR_WOULD)

    def since(self, before: Thread) -> Thread:
        return Thread(self.computed - before.computed, self.waited - before.waited, self.is_ready)


_BEGUN = Thread(0, 0, False)


@dataclass(frozen=True)
class Sample:
    """Where threads were at one time."""

    at: float
    threads: Mapping[str, Thread]

    @classmethod
    def of(cls, pids: Iterable[int]) -> Sample:
        return cls(time.monotonic(), {name: thread for pid in pids for name, thread in _threads(pid)})

    def counts_since(self, before: Sample) -> float:
        """Seconds in which they got on or had no wish to; not those in which the busiest waited for a processor."""
        passed = self.at - before.at
        did = [thread.since(before.threads.get(name, _BEGUN)) for name, thread in self.threads.items()]
        if any(one.is_ready for one in did) and not any(one.computed for one in did):
            return 0.0  # a wait is told when it is over
        return max(0.0, passed - max((one.waited for one in did), default=0.0))


def _threads(pid: int) -> Iterator[tuple[str, Thread]]:
    """Of a process that may end meanwhile."""
    with suppress(OSError):
        for folder in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                yield folder.name, Thread.read(folder)


class Waiting:
    """For some processes, since they last gave a sign."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self.begin_anew()

    def begin_anew(self) -> None:
        """What passes before the next look is not counted: a look costs more than most signs."""
        self._last: Sample | None = None
        self._seconds = 0.0

    def look(self) -> float:
        """How long it has been."""
        now = Sample.of(self._pids())
        self._seconds += now.counts_since(self._last) if self._last else 0.0
        self._last = now
        return self._seconds
