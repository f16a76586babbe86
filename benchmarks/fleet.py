"""Start many processes on one cache: measure when the last one has called its operator, and how many compile.

Two compile: one the code that all kernels share, and one the kernel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from table import Row
from timing import Spread, race

from opbridge.build.cache import Cache
from opbridge.build.cache.shared import SharedCache

_PROCESSES, _ROUNDS = 64, 3
_KERNEL = Path(__file__).resolve().parent / "kernels" / "leaky_relu.cpp"

# NumPy's operators need no adapter, and 64 processes with PyTorch would measure the machine's memory.
_PROCESS = """
import logging, sys, time
import numpy
import opbridge as ob
compiled = []
log = logging.getLogger("opbridge")
log.setLevel("INFO")
log.addFilter(lambda record: compiled.append(record.getMessage()) if record.getMessage()[:9] == "compiling" else None)
x = numpy.ones(4, "f")
print(flush=True)
input()
ob.load(sys.argv[1], schema="opbridge_bench::leaky_relu(Tensor x, float slope=0.01) -> Tensor", out="x")(x)
print(time.monotonic(), len(compiled))
"""


def starting(quick: bool) -> list[Row]:
    count, rounds = (8, 1) if quick else (_PROCESSES, _ROUNDS)
    with tempfile.TemporaryDirectory(prefix="opbridge-bench-") as name:
        folder, full = Path(name), Path(name) / "full"
        _start(1, full, compilations=2)
        shared, cache = SharedCache(folder / "shared"), Cache(full)
        for entry in cache.entries():
            cache.publish(entry.path, shared)

        def empty() -> Path:
            return Path(tempfile.mkdtemp(dir=folder))

        times = race(
            {
                "alone": lambda: _start(1, empty(), compilations=2),
                "empty": lambda: _start(count, empty(), compilations=2),
                "shared": lambda: _start(count, empty(), compilations=0, shared=shared.root),
                "full": lambda: _start(count, full, compilations=0),
            },
            rounds,
        )
    what, against = f"{count} processes at once, until the last one's first call", "the same, full cache"
    return [
        Row.absolute("1 process, empty cache, until its first call", Spread.of(times["alone"]), "1"),
        Row.absolute(f"{what}: full cache", Spread.of(times["full"]), "5"),
        Row.relative(f"{what}: empty cache, compiled once", times["empty"], against, times["full"], "2"),
        Row.relative(f"{what}: empty cache, a full shared one", times["shared"], against, times["full"], "2"),
    ]


def _start(count: int, cache: Path, compilations: int, shared: Path | None = None) -> float:
    """Return the seconds from the start signal until all processes have called their operator."""
    environment = os.environ | {"OPBRIDGE_CACHE_DIR": str(cache)}
    if shared:
        environment["OPBRIDGE_SHARED_CACHE"] = str(shared)
    command = [sys.executable, "-c", _PROCESS, str(_KERNEL)]
    processes = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for process in processes:
        next(iter(process.stdout or ()))  # it is here
    word = time.monotonic()
    for process in processes:
        print(file=process.stdin, flush=True)
    said = [process.communicate()[0].split() for process in processes]
    compiled = sum(int(number) for _, number in said)
    if compiled != compilations:
        raise SystemExit(f"{count} processes compiled {compiled} times; expected {compilations}")
    return max(float(ended) for ended, _ in said) - word
