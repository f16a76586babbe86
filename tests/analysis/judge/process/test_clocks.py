"""The clocks of an answer, which go as slowly as on a machine that is much faster."""

from __future__ import annotations

import subprocess
import sys

_MEASURED = """
import time
sleep, read = time.sleep, time.perf_counter
from opbridge.analysis.judge.process.clocks import slow_clocks
slow_clocks()
from time import monotonic_ns, perf_counter
from timeit import default_timer
real, clocks = read(), (time.time, perf_counter, default_timer)
begins, ns = [clock() for clock in clocks], monotonic_ns()
sleep(0.05)
passed = [clock() - begin for clock, begin in zip(clocks, begins)]
assert read() - real >= 0.05
assert all(0 <= one < 0.01 for one in passed), passed
assert 0 <= monotonic_ns() - ns < 10_000_000
assert time.time.__module__ == "time" and time.time.__name__ == "time"
"""


def test_clocks_go_slowly_however_they_are_read() -> None:
    subprocess.run([sys.executable, "-c", _MEASURED], check=True)
