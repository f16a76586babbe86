"""What the process-level rows run in a fresh process: `python worker.py TASK FOLDER` prints its numbers as JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parent / "kernels"
_SCHEMA = "opbridge_bench::leaky_relu(Tensor x, float slope=0.01) -> Tensor"
_EDITS = 5


def prebuild_adapter(_: Path) -> float:
    # PyTorch brings the libraries that the adapter is linked to.
    importlib.import_module("torch")
    from opbridge.frameworks.torch_adapter import load_native

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


def edits(folder: Path) -> list[float]:
    """Seconds from a saved edit to the first result of the new kernel, edit by edit."""
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
    """Seconds and bytes that a library of many operators takes, until its first result."""
    import torch

    x, before = torch.ones(4), _resident_bytes()
    start = time.perf_counter()
    import opbridge as ob

    ob.load(folder / "ops.yaml").op_000(x, x)
    return time.perf_counter() - start, _resident_bytes() - before


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_TASKS: dict[str, Callable[[Path], Any]] = {
    task.__name__: task for task in (prebuild_adapter, cold_opbridge, cold_tvm, cold_torch, edits, cached_load, library)
}

if __name__ == "__main__":
    print(json.dumps(_TASKS[sys.argv[1]](Path(sys.argv[2]))))
