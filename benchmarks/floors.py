"""Measure the limits of this machine in the same run: no row can be faster than its parts."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import lltm
import peers
import processes
from table import Floor
from timing import Contestant, Spread, burst

_SMALL, _LARGE = 4, 16 * 2**20
_INCLUDE = peers.ROOT / "src" / "opbridge" / "include"


def measure(quick: bool) -> list[Floor]:
    few, many = (2, 5) if quick else (7, 101)
    return [
        *(_floor(bounds, what, contestant, few) for bounds, what, contestant in _processes()),
        *(_floor(bounds, what, contestant, many) for bounds, what, contestant in _calls()),
        *_memory(2 if quick else 15),
    ]


def _processes() -> Iterator[tuple[str, str, Contestant]]:
    yield "cold build, edit-run loop", "gcc -O3 of the kernel in plain C", lambda: _compile("gcc", "leaky_relu.c")
    yield "cold build, edit-run loop", "g++ -O3 of the kernel itself", lambda: _compile("g++", "leaky_relu.cpp")
    yield "cached operator", "dlopen of one library", _dlopen
    yield "import opbridge", "a process of bare Python", processes.python("pass")


def _calls() -> Iterator[tuple[str, str, Contestant]]:
    import numpy as np

    yield "all calls", "an empty Python function", burst("f()", f=lambda: None)
    x = np.ones(_SMALL, np.float32)
    yield (
        "NumPy call",
        "NumPy's own `np.negative(x, out=out)`",
        burst("f(x, out=out)", f=np.negative, x=x, out=x.copy()),
    )
    yield "LLTM cell", "its three matrix products, by PyTorch on one thread", lltm.products()
    if not peers.missing("torch"):
        import torch

        extension, tensor = peers.torch_extension(), torch.ones(_SMALL)
        yield "PyTorch call", "`at::empty` of 4 floats, in C++", lambda: extension.seconds_of_empty(1000)
        yield "PyTorch call", "one dispatcher hop, in C++", lambda: extension.seconds_of_dispatch(1000, tensor)
        yield (
            "1,000 operators",
            "registering 1,000 schemas and kernels, in C++",
            lambda: extension.seconds_of_registering(1000),
        )


def _memory(rounds: int) -> Iterator[Floor]:
    import torch

    x, out = torch.randn(_LARGE), torch.empty(_LARGE)
    moved = 2 * x.nbytes
    for what, copy in (
        ("reading and writing 64 MiB each, to memory at hand", burst("out.copy_(x)", x=x, out=out)),
        ("the same, to new memory, whose pages the system clears first", burst("x.clone()", x=x)),
    ):
        seconds = Spread.of([copy() for _ in range(rounds)])
        yield Floor("16M floats", what, seconds, f"{moved / seconds.median / 1e9:.1f} GB/s")


def _floor(bounds: str, what: str, contestant: Contestant, rounds: int) -> Floor:
    return Floor(bounds, what, Spread.of([contestant() for _ in range(rounds)]))


def _compile(compiler: str, source: str) -> float:
    with tempfile.TemporaryDirectory(prefix="opbridge-bench-") as folder:
        flags = ["-O3", "-shared", "-fPIC", f"-I{_INCLUDE}"]
        start = time.perf_counter()
        subprocess.run([compiler, *flags, str(peers.KERNELS / source), "-o", f"{folder}/kernel.so"], check=True)
        return time.perf_counter() - start


def _dlopen() -> float:
    """Measure opening a library that this process has not opened; the linker identifies libraries by their files."""
    peers.ctypes_function()
    with tempfile.TemporaryDirectory(prefix="opbridge-bench-") as folder:
        library = Path(folder, "kernel.so")
        shutil.copy(peers.folder("ctypes") / "leaky_relu.so", library)
        start = time.perf_counter()
        ctypes.CDLL(os.fspath(library))
        return time.perf_counter() - start
