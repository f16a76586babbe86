"""Measure the limits of the machine in every race: how fast it copies, and how fast it multiplies and adds."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from opbridge.analysis.bench.paired_timing import Contestant, burst
from opbridge.verify.check.arrays import Array
from opbridge.verify.check.drivers import Driver

_LANES, _DEPTH = 128 * 256, 4096
_SIDE = 2048
"""Rows and columns of the matrices that an accelerator multiplies."""


@cache
def _library() -> Any:
    import opbridge as ob

    return ob.load(Path(__file__).parent / "machine_limits.yaml")


def copying(driver: Driver, device: str, moved: int) -> Contestant:
    """Return a contestant that copies between existing buffers; reads and writes together are `moved` bytes.

    Pass as many bytes as the operator moves: what fits into a cache is copied faster.
    """
    count = max(1, moved // 8)
    if device != "cpu":
        x, out = (driver.tensor(Array.of(np.ones(count), "float32")) for _ in range(2))
        return burst("out.copy_(x)", finish=partial(driver.finish, [out]), out=out, x=x)
    x, out = (np.ones(count, np.float32) for _ in range(2))
    return burst("copy(x, out=out)", copy=_library().copy.numpy, x=x, out=out)


def multiplying(driver: Driver, device: str, dtype: str) -> tuple[Contestant, int]:
    """Return a contestant that multiplies and adds, and the number of operations in one call."""
    if device != "cpu":
        x = driver.tensor(Array.of(np.ones((_SIDE, _SIDE)), dtype))
        return burst("x.mm(x)", finish=partial(driver.finish, [x]), x=x), 2 * _SIDE**3
    x, out = (np.ones(_LANES, dtype) for _ in range(2))
    function = _library().multiply_add.numpy
    return burst(f"f(x, depth={_DEPTH}, out=out)", f=function, x=x, out=out), 2 * _DEPTH * _LANES
