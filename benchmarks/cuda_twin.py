"""What a CUDA kernel costs on the CPU, with the twin."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from table import Row
from timing import Contestant, Spread, burst, race, rested

from opbridge.build.toolchains import BuildRequest, build

_KERNELS = Path(__file__).resolve().parent / "kernels"
_LARGE = 16 * 2**20
_SIDE = 512
_THREADS, _WAITS = 256, 1000


def kernels(quick: bool) -> list[Row]:
    return [*_saxpy(quick), *_matrix_product(quick), _switch(quick)]


@cache
def _library() -> ctypes.CDLL:
    request = BuildRequest((_KERNELS / "twin.cu",), "twin.so", language="cuda-twin")
    return ctypes.CDLL(str(build(request).path))


def _saxpy(quick: bool) -> list[Row]:
    import torch

    x, y, out = torch.randn(_LARGE), torch.zeros(_LARGE), torch.zeros(_LARGE)
    what = "CUDA twin, saxpy over 16M floats"
    with _threads(torch.get_num_threads()):
        times = race(
            {
                what: _called("run_saxpy", _LARGE, ctypes.c_float(0.5), x.data_ptr(), y.data_ptr()),
                "torch.add": rested(burst("add(out, x, alpha=0.5, out=out)", add=torch.add, out=out, x=x)),
            },
            3 if quick else 31,
        )
    return [Row.relative(what, times[what], "torch.add(y, x, alpha=a, out=y)", times["torch.add"], "5/4")]


def _matrix_product(quick: bool) -> list[Row]:
    import torch

    a, b, c = (torch.randn(_SIDE, _SIDE) for _ in range(3))
    matrices = (a.data_ptr(), b.data_ptr(), c.data_ptr(), _SIDE)
    product = _called("run_matrix_product", *matrices)

    def on_one_thread() -> float:
        with _threads(1):
            return product()

    cores = torch.get_num_threads()
    what = "CUDA twin, 512³ matrix product with `__shared__` tiles"
    entrants = {what: product, "loop": _called("triple_loop", *matrices), "one": on_one_thread}
    with _threads(cores):
        times = race(entrants, 1 if quick else 7)
    return [
        Row.relative(what, times[what], "a triple loop, g++ -O3, one thread", times["loop"], "30"),
        Row.relative(f"{what}, {cores} threads", times[what], "one block at a time", times["one"], "1/3"),
    ]


def _switch(quick: bool) -> Row:
    wait = _called("run_wait", _THREADS, _WAITS)
    seconds = [wait() / (_THREADS * _WAITS) for _ in range(3 if quick else 31)]
    return Row.absolute("CUDA twin, one thread's wait at a barrier", Spread.of(seconds), "3e-8")


def _called(name: str, *arguments: object) -> Contestant:
    function = getattr(_library(), name)
    passed = [ctypes.c_void_p(value) if isinstance(value, int) and value > 2**32 else value for value in arguments]
    return rested(burst("f(*passed)", f=function, passed=passed))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    from opbridge import _core

    before = _core.num_threads()
    _core.set_num_threads(count)
    try:
        yield
    finally:
        _core.set_num_threads(before)
