"""What an Ascend C kernel costs on the CPU, with the twin: without checks, with them, and until it is compiled."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from table import Row
from timing import Contestant, Spread, burst, race, rested

from opbridge.build.toolchains import BuildRequest, build

_KERNEL = Path(__file__).resolve().parent / "kernels" / "twin_npu.cpp"
_LARGE = 16 * 2**20
_BLOCKS = 8


def kernels(quick: bool) -> list[Row]:
    return [*_add(quick), _compilation(quick)]


def _add(quick: bool) -> list[Row]:
    import torch

    x, y, out = (torch.rand(_LARGE).half() for _ in range(3))
    add = ctypes.CDLL(str(_built(_KERNEL))).aclrtlaunch_add
    passed = (_BLOCKS, None, *(ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, y, out)), _LARGE)
    called = rested(burst("add(*passed)", add=add, passed=passed))
    plain, checked = "Ascend C twin, 16M halves added, checks off", "Ascend C twin, 16M halves added, checked"
    times = race(
        {
            plain: _with_checks("0", called),
            checked: _with_checks("1", called),
            "torch.add": rested(burst("add(x, y, out=out)", add=torch.add, x=x, y=y, out=out)),
        },
        3 if quick else 31,
    )
    assert torch.equal(out, x + y)
    against = "torch.add(x, y, out=z)"
    return [
        Row.relative(plain, times[plain], against, times["torch.add"], "2"),
        Row.relative(checked, times[checked], against, times["torch.add"], "10"),
    ]


def _compilation(quick: bool) -> Row:
    seconds = []
    with TemporaryDirectory() as folder:
        for turn in range(1 if quick else 5):
            source = Path(folder) / f"turn_{turn}_{time.time_ns()}.cpp"
            source.write_text(_KERNEL.read_text())
            start = time.perf_counter()
            _built(source)
            seconds.append(time.perf_counter() - start)
    return Row.absolute("Ascend C twin, a kernel compiled for the first time", Spread.of(seconds), "3")


def _built(source: Path) -> Path:
    return build(BuildRequest((source,), "twin_npu.so", language="ascend-twin")).path


def _with_checks(value: str, contestant: Contestant) -> Callable[[], float]:
    def timed() -> float:
        os.environ["OPBRIDGE_TWIN_CHECKS"] = value
        return contestant()

    return timed
