"""Run the tasks of the process-level rows: `python worker.py TASK FOLDER` prints its numbers as JSON."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parent / "kernels"
_SCHEMA = "opbridge_bench::leaky_relu(Tensor x, float slope=0.01) -> Tensor"
_EDITS = 5
_LARGE = 2**20


def prebuild_adapter(_: Path) -> float:
    # PyTorch loads the libraries that the adapter needs.
    importlib.import_module("torch")
    from opbridge.frameworks.torch.native import load_native

    start = time.perf_counter()
    load_native()
    return time.perf_counter() - start


def cold_opbridge(_: Path) -> float:
    import torch

    x = torch.ones(4)
    start = time.perf_counter()
    import opbridge as ob

    ob.load(KERNELS / "leaky_relu.cpp", schema=_SCHEMA, out="x")(x)
    return time.perf_counter() - start


def cold_tvm(folder: Path) -> float:
    import torch

    x, out = torch.ones(4), torch.empty(4)
    source = (KERNELS / "leaky_relu_tvm.cpp").read_text()
    start = time.perf_counter()
    import tvm_ffi.cpp

    tvm_ffi.cpp.load_inline(
        "leaky_relu", cpp_sources=source, functions="leaky_relu", build_directory=str(folder)
    ).leaky_relu(x, out, 0.01)
    return time.perf_counter() - start


def cold_torch(folder: Path) -> float:
    import torch

    x = torch.ones(4)
    source = (KERNELS / "leaky_relu_torch.cpp").read_text()
    start = time.perf_counter()
    from torch.utils.cpp_extension import load_inline

    load_inline("leaky_relu", source, functions="leaky_relu", build_directory=str(folder)).leaky_relu(x, 0.01)
    return time.perf_counter() - start


def cold_mindspore_opbridge(_: Path) -> float:
    import mindspore

    x, source = mindspore.ops.ones(4), (KERNELS / "leaky_relu.cpp").read_text()
    x.asnumpy()
    start = time.perf_counter()
    import opbridge as ob

    ob.inline(source, schema=_SCHEMA, out="x")(x).asnumpy()
    return time.perf_counter() - start


def cold_mindspore_builder(folder: Path) -> float:
    import mindspore

    os.chdir(folder)
    x = mindspore.ops.ones(4)
    x.asnumpy()
    start = time.perf_counter()
    builder = mindspore.ops.CustomOpBuilder("leaky_relu_ms", str(KERNELS / "leaky_relu_mindspore.cpp"), backend="CPU")
    builder.load().leaky_relu(x, 0.01).asnumpy()
    return time.perf_counter() - start


def aten_opbridge(folder: Path) -> tuple[float, float]:
    from opbridge.build.toolchains import BuildRequest, build

    source = folder / "leaky_relu_aten.cpp"
    return _first_and_edited(source, lambda: build(BuildRequest((source,), "leaky_relu.so")))


def aten_torch(folder: Path) -> tuple[float, float]:
    from torch.utils.cpp_extension import load

    source = folder / "leaky_relu_aten.cpp"
    return _first_and_edited(
        source, lambda: load("leaky_relu", [str(source)], build_directory=str(folder), is_python_module=False)
    )


def extension_opbridge(folder: Path) -> tuple[float, float]:
    import torch  # noqa: F401, for both import it first

    import opbridge as ob

    source = folder / "bindings.cpp"
    return _first_and_edited(source, lambda: ob.extension("bindings", sources=[source]))


def extension_torch(folder: Path) -> tuple[float, float]:
    from torch.utils.cpp_extension import load

    source = folder / "bindings.cpp"
    return _first_and_edited(source, lambda: load("bindings", [str(source)], build_directory=str(folder)))


def extension_unchanged(folder: Path) -> float:
    """Measure the import of the module after that of PyTorch, in a new process."""
    import torch  # noqa: F401

    start = time.perf_counter()
    import opbridge as ob

    ob.extension("bindings", sources=[folder / "bindings.cpp"])
    return time.perf_counter() - start


def _first_and_edited(source: Path, build: Callable[[], object]) -> tuple[float, float]:
    text = (KERNELS / source.name).read_text()
    seconds = []
    for slope in ("0.01", "0.02"):
        source.write_text(text.replace("0.01", slope))
        start = time.perf_counter()
        build()
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def edits(folder: Path) -> list[float]:
    """Return the seconds from each saved edit to the first result of the new kernel."""
    import torch

    import opbridge as ob

    x, path = -torch.ones(4), folder / "leaky_relu.cpp"
    source = (KERNELS / "leaky_relu.cpp").read_text()

    def edited(offset: int) -> float:
        path.write_text(source.replace("T(slope)", f"T(slope) + T({offset})"))
        start = time.perf_counter()
        result = ob.load(path, schema=_SCHEMA, out="x")(x, 0.0)
        seconds = time.perf_counter() - start
        if result[0] != -offset:
            raise SystemExit(f"the kernel that ran is not the one of edit {offset}: {result}")
        return seconds

    edited(0)
    return [edited(offset) for offset in range(1, _EDITS + 1)]


def cached_load(_: Path) -> float:
    import torch

    import opbridge as ob

    x = torch.ones(4)
    other = "opbridge_bench::leaky_relu_backward(Tensor grad, Tensor x, float slope) -> Tensor"
    ob.load(KERNELS / "leaky_relu_backward.cpp", schema=other, out="x")(x, x, 0.01)
    start = time.perf_counter()
    ob.load(KERNELS / "leaky_relu.cpp", schema=_SCHEMA, out="x")(x)
    return time.perf_counter() - start


def library(folder: Path) -> tuple[float, float]:
    """Return the seconds and bytes of a library of many operators, until its first result."""
    import torch

    x, before = torch.ones(4), _resident_bytes()
    start = time.perf_counter()
    import opbridge as ob

    ob.load(folder / "ops.yaml").op_000(x, x)
    return time.perf_counter() - start, _resident_bytes() - before


def large_torch(_: Path) -> float:
    import torch

    return _median_call(torch.nn.functional.leaky_relu, torch.linspace(-1, 1, _LARGE))


def large_numpy(_: Path) -> float:
    import numpy as np

    import opbridge as ob

    return _median_call(ob.aten("leaky_relu").numpy, np.linspace(-1, 1, _LARGE, dtype=np.float32))


def large_mindspore(_: Path) -> float:
    import opbridge as ob

    return _median_mindspore_call(ob.aten("leaky_relu").mindspore)


def large_mindspore_graph(_: Path) -> float:
    import mindspore

    import opbridge as ob

    operator = ob.aten("leaky_relu").mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return operator(x)

    return _median_mindspore_call(mindspore.jit(network))


def large_mindspore_relu(_: Path) -> float:
    import mindspore

    return _median_mindspore_call(mindspore.ops.ReLU())


def _median_mindspore_call(function: Callable[[Any], Any]) -> float:
    import mindspore
    import numpy as np

    x = mindspore.Tensor(np.linspace(-1, 1, _LARGE, dtype=np.float32))
    # Reading the memory waits for MindSpore's threads.
    return _median_call(lambda x: function(x).data_ptr(), x)


def _median_call(function: Callable[[Any], Any], x: Any) -> float:
    times = []
    for _ in range(300):
        start = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - start)
    return statistics.median(times[100:])


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_TASKS: dict[str, Callable[[Path], Any]] = {
    task.__name__: task
    for task in (
        *(prebuild_adapter, cold_opbridge, cold_tvm, cold_torch, cold_mindspore_opbridge, cold_mindspore_builder),
        *(aten_opbridge, aten_torch, edits, cached_load, library),
        *(extension_opbridge, extension_torch, extension_unchanged),
        *(large_torch, large_numpy, large_mindspore, large_mindspore_graph, large_mindspore_relu),
    )
}

if __name__ == "__main__":
    print(json.dumps(_TASKS[sys.argv[1]](Path(sys.argv[2]))))
