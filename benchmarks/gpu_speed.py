"""Measure the cost of a call on a GPU, and the memory rate of kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch
from table import Row
from timing import Contestant, burst, race

from opbridge.build.toolchains import nvcc

if TYPE_CHECKING:
    from opbridge.waist.op import OpLibrary

_ELEMENTS = 128 * 2**20
_COLUMNS = 8192
_GRAPH_CALLS = 100

_INLINE = """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

__global__ void add_each(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

at::Tensor inline_add(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor out = at::empty_like(x);
  add_each<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
"""


def describe() -> dict[str, str]:
    properties = torch.cuda.get_device_properties(0)
    return {
        "GPU": f"{properties.name}, sm_{properties.major}{properties.minor}, {properties.total_memory >> 30} GB",
        "CUDA of PyTorch": str(torch.version.cuda),
        "driver": _said(r"[\d.]+", "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "nvcc": _said(r"release .*", nvcc.find()[0], "--version"),
    }


def _said(what: str, *command: str) -> str:
    """Return the first match in the output of a program."""
    if not shutil.which(command[0]):
        return "not found"
    found = re.search(what, subprocess.run(command, capture_output=True, text=True).stdout)
    return found[0] if found else "not told"


def rows(library: OpLibrary, quick: bool) -> list[Row]:
    return [*_launches(library, quick), *_bandwidth(library, quick), _graph(library, quick)]


def _launches(library: OpLibrary, quick: bool) -> list[Row]:
    """Measure the CPU time of a call with a very short kernel."""
    x, y = torch.randn(1, device="cuda"), torch.randn(1, device="cuda")
    what = "launch: saxpy of one element"
    calls = {what: _launched("f(x, y)", f=library.saxpy, x=x, y=y)}
    calls["bare"] = _launched("f(x, y)", f=library.bare_add, x=x, y=y)
    calls["torch"] = _launched("f(x, y)", f=torch.add, x=x, y=y)
    inline = _load_inline()
    if inline:
        calls["inline"] = _launched("f(x, y)", f=inline, x=x, y=y)
    times = race(calls, 5 if quick else 51)
    against = "a load_inline operator"
    return [
        Row.relative(what, times[what], "torch.add", times["torch"], "11/10"),
        Row.relative("launch: a bare aot function", times["bare"], "torch.add", times["torch"], None),
        Row.relative(what, times[what], against, times["inline"], None)
        if inline
        else Row.without_peer(what, times[what], against, None, "pip install ninja"),
    ]


def _launched(statement: str, **names: object) -> Contestant:
    """Start with an empty queue: otherwise the CPU would wait for the GPU."""
    measured = burst(statement, **names)

    def run() -> float:
        torch.cuda.synchronize()
        return measured()

    return run


def _load_inline() -> Callable[..., torch.Tensor] | None:
    from torch.utils.cpp_extension import load_inline

    declaration = "at::Tensor inline_add(const at::Tensor& x, const at::Tensor& y);"
    try:
        module = load_inline(
            "opbridge_gpu_inline",
            declaration,
            cuda_sources=_INLINE,
            functions=["inline_add"],
            extra_cuda_cflags=["-O3"],
        )
    except (OSError, RuntimeError) as error:
        print(f"load_inline: {error}")
        return None
    function: Callable[..., torch.Tensor] = module.inline_add
    return function


def _bandwidth(library: OpLibrary, quick: bool) -> list[Row]:
    """Measure seconds per GB of memory traffic, next to a copy on the device in the same run."""
    wide = [torch.randn(_ELEMENTS, device="cuda") for _ in range(2)]
    short = [each.half() for each in wide]
    matrix = wide[0].view(-1, _COLUMNS)
    copied = torch.empty_like(wide[0])
    size = wide[0].nbytes
    calls: Mapping[str, tuple[Callable[[], object], int]] = {
        "copy": (lambda: copied.copy_(wide[0]), 2 * size),
        "saxpy, float": (lambda: library.saxpy(*wide), 3 * size),
        "saxpy, half": (lambda: library.saxpy(*short), 3 * size // 2),
        "scaled_add by ob::parallel_for, float": (lambda: library.scaled_add(*wide), 3 * size),
        "row_sum, float": (lambda: library.row_sum(matrix), size),
        "softmax, float": (lambda: library.softmax(matrix), 2 * size),
        "torch.add": (lambda: torch.add(*wide), 3 * size),
        "torch.sum": (lambda: matrix.sum(1), size),
        "torch.softmax": (lambda: matrix.softmax(1), 2 * size),
    }
    times = race({name: _on_gpu(*call) for name, call in calls.items()}, 5 if quick else 31)
    copy = "a GB copied on the device"
    reach = {"saxpy, float": "10/9", "saxpy, half": "10/9"}
    ours = [name for name in calls if not name.startswith(("copy", "torch"))]
    return [
        *(Row.relative(f"a GB of {name}", times[name], copy, times["copy"], reach.get(name)) for name in ours),
        *(
            Row.relative(f"a GB of {name}", times[name], peer, times[peer], None)
            for name, peer in zip(
                ("saxpy, float", "row_sum, float", "softmax, float"),
                ("torch.add", "torch.sum", "torch.softmax"),
                strict=True,
            )
        ),
    ]


def _on_gpu(call: Callable[[], object], moved: int) -> Contestant:
    """Measure by the clock of the GPU, because the CPU only starts the kernel."""

    def run() -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        call()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / (moved / 1e9)

    return run


def _graph(library: OpLibrary, quick: bool) -> Row:
    x = torch.randn(1000, device="cuda")

    def calls() -> torch.Tensor:
        out = x
        for _ in range(_GRAPH_CALLS):
            out = library.saxpy(out, x)
        return out

    calls()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls()
    eager, replayed = (_finished(call) for call in (calls, graph.replay))
    times = race({"replayed": replayed, "eager": eager}, 5 if quick else 51)
    what = "a call of saxpy in a CUDA graph, 1000 elements"
    return Row.relative(what, times["replayed"], "the same without a graph", times["eager"], None)


def _finished(calls: Callable[[], object]) -> Contestant:
    """Return the time of one of a hundred completed calls."""

    def once() -> None:
        calls()
        torch.cuda.synchronize()

    measured = burst("f()", f=once)
    return lambda: measured() / _GRAPH_CALLS
