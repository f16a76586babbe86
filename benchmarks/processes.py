"""Measure one-time costs of a process: building, loading and importing, each in separate processes."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peers
from table import Row
from timing import Contestant, Spread, differences, race

_WORKER = Path(__file__).resolve().parent / "worker.py"
_COLD = "cold build to first call, one kernel"
_FILES, _KERNELS_A_FILE = 20, 50


def cold_build(quick: bool) -> list[Row]:
    """Use a cache with only the PyTorch adapter, which is built once per version of PyTorch."""
    _prebuilt_adapter()

    def opbridge() -> float:
        with _empty_cache() as cache:
            return float(_work("cold_opbridge", cache, cache))

    rows = []
    if missing := peers.missing("tvm-ffi"):
        rows.append(Row.without_peer(_COLD, [opbridge()], "tvm_ffi.cpp.load_inline", "1/3", missing))
    else:
        times = race({"opbridge": opbridge, "tvm": _cold_peer("cold_tvm")}, rounds=1 if quick else 7)
        rows.append(Row.relative(_COLD, times["opbridge"], "tvm_ffi.cpp.load_inline", times["tvm"], "1/3"))
    if missing := peers.missing("torch"):
        rows.append(Row.without_peer(_COLD, [opbridge()], "torch load_inline", "1/50", missing))
    elif not quick:
        # The peer takes half a minute, so it is measured once.
        times = race({"opbridge": _median_of(3, opbridge), "torch": _cold_peer("cold_torch")}, rounds=1)
        rows.append(Row.relative(_COLD, times["opbridge"], "torch load_inline", times["torch"], "1/50"))
    return rows


def mindspore_build(quick: bool) -> list[Row]:
    """Measure the peer once, because it takes half a minute; skip it in a quick run."""
    if quick:
        return []

    def opbridge() -> float:
        with _empty_cache() as cache:
            return float(_work("cold_mindspore_opbridge", cache, cache))

    times = race({"ours": _median_of(3, opbridge), "theirs": _cold_peer("cold_mindspore_builder")}, rounds=1)
    what, peer = "`ob.inline` to the first result in MindSpore", "ops.CustomOpBuilder"
    return [Row.relative(what, times["ours"], peer, times["theirs"], "1/30")]


def aten_build(quick: bool) -> list[Row]:
    """Measure the peer once, because it takes a minute and a half; skip it in a quick run."""
    if quick or peers.missing("torch"):
        return []
    with _scratch() as folder, _scratch() as cache:
        ours = _work("aten_opbridge", folder, cache)
    with _scratch() as folder:
        theirs = _work("aten_torch", folder)
    peer, what = "torch.utils.cpp_extension.load", "build a kernel that includes torch/extension.h"
    return [
        Row.relative(f"{what}, from nothing", ours[:1], peer, theirs[:1], "1.1"),
        Row.relative(f"{what}, edited", ours[1:], peer, theirs[1:], "1/3"),
        Row.relative(f"{what}, edited", ours[1:], "its first build", ours[:1], "1/3"),
    ]


def extension_build(quick: bool) -> list[Row]:
    """Measure the peer once, because it takes a minute; skip it in a quick run."""
    if quick or peers.missing("torch"):
        return []
    with _scratch() as folder, _scratch() as cache:
        ours = _work("extension_opbridge", folder, cache)
        unchanged = [float(_work("extension_unchanged", folder, cache)) for _ in range(5)]
    with _scratch() as folder:
        theirs = _work("extension_torch", folder)
    peer, what = "torch.utils.cpp_extension.load", "an extension with Python bindings"
    return [
        Row.relative(f"{what}, from nothing", ours[:1], peer, theirs[:1], None),
        Row.relative(f"{what}, edited", ours[1:], peer, theirs[1:], "1/3"),
        Row.absolute(f"{what}, unchanged, to its module", Spread.of(unchanged), "0.02"),
    ]


def aten_large(quick: bool) -> list[Row]:
    """Use a process for each, because OpenMP threads take time from MindSpore threads in the same process."""
    contestants = {
        "PyTorch": "large_torch",
        "NumPy": "large_numpy",
        "MindSpore": "large_mindspore",
        "MindSpore, a graph": "large_mindspore_graph",
        "mindspore.ops.ReLU": "large_mindspore_relu",
    }

    def contestant(task: str) -> Contestant:
        return lambda: float(_work(task, Path()))

    times = race({name: contestant(task) for name, task in contestants.items()}, rounds=1 if quick else 7)
    what, own, floor = '`ob.aten("leaky_relu")` over 1M floats', "torch.nn.functional.leaky_relu", "mindspore.ops.ReLU"
    return [
        *(
            Row.relative(f"{what}: {name}", times[name], own, times["PyTorch"], "1.05")
            for name in ("NumPy", "MindSpore", "MindSpore, a graph")
        ),
        # No operator can be faster than MindSpore's own call here.
        Row.relative(f"{what}: MindSpore", times["MindSpore"], floor, times[floor], None),
    ]


def edit_loop(quick: bool) -> list[Row]:
    _prebuilt_adapter()
    seconds: list[float] = []
    for _ in range(1 if quick else 3):
        with _scratch() as folder, _empty_cache() as cache:
            seconds += _work("edits", folder, cache)
    return [Row.absolute("edit-run loop: save, load, call", Spread.of(seconds), "1")]


def cached_load(quick: bool) -> list[Row]:
    cache = _lasting_cache()
    _work("cached_load", cache, cache)
    seconds = [float(_work("cached_load", cache, cache)) for _ in range(3 if quick else 15)]
    return [Row.absolute("load and first call of a cached operator", Spread.of(seconds), "0.003")]


def many_operators(quick: bool) -> list[Row]:
    cache, project = _lasting_cache(), peers.folder("library")
    write_library(project)
    _work("library", project, cache)
    measured = [_work("library", project, cache) for _ in range(2 if quick else 9)]
    seconds, memory = zip(*measured, strict=True)
    what = f"cached library of {_FILES * _KERNELS_A_FILE:,} operators: load, register, first call"
    megabytes = Spread.of([value / 2**20 for value in memory])
    return [Row.absolute(what, Spread.of(seconds), "0.15"), Row.absolute("the same, memory", megabytes, "20", "MB")]


def importing(quick: bool) -> list[Row]:
    times = race({"opbridge": python("import opbridge"), "bare": python("pass")}, rounds=3 if quick else 21)
    cost = differences(times["opbridge"], times["bare"])
    return [Row.absolute("import opbridge, over bare Python", cost, "0.05")]


def python(code: str) -> Contestant:
    environment = _environment()

    def run() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        return time.perf_counter() - start

    return run


def write_library(project: Path) -> None:
    """Write twenty source files of fifty kernels each, and their manifest; existing files stay unchanged."""
    manifest = ["namespace: opbridge_bench_library", "ops:"]
    for file in range(_FILES):
        source = ["#include <opbridge/kernel.h>"]
        for name in (f"op_{file * _KERNELS_A_FILE + place:03}" for place in range(_KERNELS_A_FILE)):
            source.append(
                f"\ntemplate <class T>\n"
                f"void {name}(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {{\n"
                f"  ob::parallel_for(out.numel(), [&](int64_t i) {{ out[i] = x[i] + T(alpha) * y[i]; }});\n"
                f"}}\nOB_KERNEL({name}, float)"
            )
            manifest.append(
                f"  - func: {name}(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor\n"
                f"    out: x\n    kernels: {{cpu: kernels_{file:02}.cpp}}\n"
                f"    derivatives: {{x: grad, y: grad * alpha}}\n    batch: elementwise"
            )
        _write(project / f"kernels_{file:02}.cpp", source)
    _write(project / "ops.yaml", manifest)


def _write(path: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _median_of(times: int, contestant: Contestant) -> Contestant:
    return lambda: statistics.median(contestant() for _ in range(times))


def _cold_peer(task: str) -> Contestant:
    def build() -> float:
        with _scratch() as folder:
            return float(_work(task, folder))

    return build


def _prebuilt_adapter() -> Path:
    """Return a cache with only the adapter."""
    cache = peers.folder("adapter")
    _work("prebuild_adapter", cache, cache)
    return cache


def _lasting_cache() -> Path:
    """Return a cache that keeps slow compilations between runs."""
    return Path(shutil.copytree(_prebuilt_adapter(), peers.folder("cache"), dirs_exist_ok=True))


@contextmanager
def _empty_cache() -> Iterator[Path]:
    """Return an environment whose cache has only the adapter."""
    with _scratch() as folder:
        yield Path(shutil.copytree(peers.folder("adapter"), folder / "cache"))


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="opbridge-bench-") as folder:
        yield Path(folder)


def _work(task: str, folder: Path, cache: Path | None = None) -> Any:
    environment = _environment()
    if cache:
        environment["OPBRIDGE_CACHE_DIR"] = str(cache)
    command = [sys.executable, str(_WORKER), task, str(folder)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _environment() -> dict[str, str]:
    """Return an environment that keeps bytecode, because an installed opbridge has bytecode."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
