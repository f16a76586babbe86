"""Let the clocks that an answer reads go slowly, so that its calls seem to take as long as on a GPU.

An answer may measure its calls and print how long they take, or choose the fastest kernel. What it does on a fast
machine is what it is judged by.
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable

SLOWER = 10_000
"""How many times slower the clocks of an answer go: the twin takes about as much longer than a GPU."""
_CLOCKS = ("time", "perf_counter", "monotonic")
_OWN, _EVENTS = "opbridge.", "opbridge.twins.cuda.torch_device.streams"
"""opbridge's modules, which have real clocks, except for the one of the events that an answer records."""


def slow_clocks() -> None:
    """Let the clocks of Python's `time` go slowly for everybody but opbridge, whose time limits are real."""
    for name in _CLOCKS:
        setattr(time, name, _slow(getattr(time, name), lambda base, passed: base + passed / SLOWER))
        ns = f"{name}_ns"
        setattr(time, ns, _slow(getattr(time, ns), lambda base, passed: base + passed // SLOWER))
    timeit.default_timer = time.perf_counter


def _slow(clock: Callable[[], float], shown: Callable[[float, float], float]) -> Callable[[], float]:
    base = clock()

    def read() -> float:
        now = clock()
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        return now if caller.startswith(_OWN) and caller != _EVENTS else shown(base, now - base)

    read.__name__ = read.__qualname__ = clock.__name__
    read.__module__, read.__doc__ = clock.__module__, clock.__doc__
    return read
