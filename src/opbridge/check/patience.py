"""How long to wait for processes, whatever else the machine has to do.

Who waits by the clock ends on a busy machine what would have ended well on an idle one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_WAITS_FOR_A_PROCESSOR = b"R"
_USER, _SYSTEM, _LAST = 11, 12, 15
"""Where /proc/PID/stat has a process's time behind its name, followed by that of its children that have ended."""


@dataclass(frozen=True)
class Sample:
    """What processes had done at one time."""

    at: float
    computed: float
    is_ready: bool
    """Whether one of them would go on at once if it were given a processor."""

    @classmethod
    def of(cls, pids: Iterable[int]) -> Sample:
        computed, is_ready = 0.0, False
        for pid in pids:
            try:
                fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue  # it has ended
            computed += _TICK * sum(map(int, fields[_USER:_LAST]))
            is_ready |= fields[0] == _WAITS_FOR_A_PROCESSOR
        return cls(time.monotonic(), computed, is_ready)

    def counts_since(self, before: Sample) -> float:
        """Seconds in which they got on or could have; not those in which they waited for a processor."""
        passed, computed = self.at - before.at, max(0.0, self.computed - before.computed)
        return min(passed, computed) if computed or self.is_ready else passed


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
