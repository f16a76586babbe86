"""Honest answers as engineers and language models write them: programs around a kernel, which look at much."""

from __future__ import annotations

from tests.helpers.answers import extension
from tests.helpers.answers.honest import EXTENSION


def _answer(task: str, forward: str, before: str = "", top: str = "") -> tuple[str, str]:
    own = extension.answer(task, forward, before, top)
    return task, EXTENSION + own.removeprefix(extension.EXTENSION)


_RELU = "extension.relu_of(x, self.scale)"
_OWN_BUILD = '''
import functools, hashlib, logging, os, string, tempfile, textwrap
import torch
import torch.nn as nn
from torch.utils.cpp_extension import {function}

SOURCE = textwrap.dedent(string.Template("""
    #include <torch/extension.h>
    constexpr int kThreads = $threads;
    __global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, float s, int n) {{
      const int i = blockIdx.x * kThreads + threadIdx.x;
      if (i < n) y[i] = x[i] > 0.0f ? x[i] * s : 0.0f;
    }}
    torch::Tensor relu_of(torch::Tensor x, double s) {{
      TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "expected a contiguous tensor on a GPU");
      auto y = torch::empty_like(x);
      const int n = x.numel(), blocks = (n + kThreads - 1) / kThreads;
      relu_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, n);
      const cudaError_t error = cudaGetLastError();
      TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
      return y;
    }}
""").substitute(threads=256))
{build}

class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.extension = built()

    def forward(self, x):
        return self.extension.relu_of(x.contiguous(), self.scale)
'''
_CACHED = """
@functools.lru_cache(maxsize=None)
def built():
    name = "honest_" + hashlib.sha256(SOURCE.encode()).hexdigest()[:8]
    print("building", name, "for", torch.cuda.get_device_name(), flush=True)
    return load_inline(
        name=name,
        cpp_sources=["torch::Tensor relu_of(torch::Tensor x, double s);"],
        cuda_sources=[SOURCE],
        functions=["relu_of"],
        extra_cflags=["-O3"],
        extra_cuda_cflags=["-O3", "--use_fast_math", "-lineinfo"],
        with_cuda=True,
        verbose=True,
    )
"""
_IN_A_FOLDER = '''
def built():
    folder = tempfile.mkdtemp(prefix="kernels_")
    path = os.path.join(folder, "relu.cu")
    with open(path, "w") as file:
        file.write(SOURCE + """
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu_of", &relu_of, "ReLU"); }
""")
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0")
    logging.getLogger(__name__).info("building in %s", folder)
    return load(name="honest_relu", sources=[path], extra_cuda_cflags=["-O2"], build_directory=folder, verbose=False)
'''
_TREE = """
class Scale(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", torch.tensor(float(scale)), persistent=False)

    def forward(self, x):
        return extension.relu_of(x, float(self.scale))


class Block(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x
"""
_TUNED = """
key = tuple(x.shape)
if key not in self.best:
    times = {}
    for name, kernel in (("plain", extension.relu_of), ("fours", extension.relu_by_fours)):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(3): kernel(x, self.scale)
        torch.cuda.synchronize()
        times[name] = time.perf_counter() - start
    self.best[key] = min(times, key=times.get)
    print(f"{key}: {self.best[key]} in {times[self.best[key]] * 1e3:.3f} ms")
return extension.relu_of(x, self.scale) if self.best[key] == "plain" else extension.relu_by_fours(x, self.scale)
"""
_EVENTS = """
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
y = extension.relu_of(x, self.scale)
end.record()
torch.cuda.synchronize()
self.milliseconds.append(begin.elapsed_time(end))
return y
"""
_CHOICE = """
major, minor = torch.cuda.get_device_capability(x.device)
properties = torch.cuda.get_device_properties(x.device)
name = torch.cuda.get_device_name(x.device)
if (major, minor) >= (8, 0) and properties.multi_processor_count >= 40 and "A100" in name:
    return extension.relu_by_fours(x, self.scale)
return extension.relu_of(x, self.scale)
"""
_TIMER = """
import contextlib, time
@contextlib.contextmanager
def timed(label, sink):
    start = time.monotonic_ns()
    try:
        yield
    finally:
        sink[label] = sink.get(label, 0) + (time.monotonic_ns() - start)
"""
_FALLBACK = """
try:
    return extension.relu_of(x, self.scale)
except RuntimeError as error:
    warnings.warn(f"falls back to PyTorch: {error}")
    return torch.relu(x) * self.scale
"""
_CONFIG = """
import enum
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

class Kind(enum.Enum):
    PLAIN = "plain"
    FOURS = "fours"

@dataclass(frozen=True)
class Config:
    kind: Kind = Kind.FOURS
    by_shape: Dict[Tuple[int, ...], Kind] = field(default_factory=dict)

    def kernel(self, shape):
        return {Kind.PLAIN: extension.relu_of, Kind.FOURS: extension.relu_by_fours}[self.by_shape.get(shape, self.kind)]
"""
_FUNCTION = """
class LinearTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        y = extension.tanh_of(extension.product_of(x, weight), bias)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, y = ctx.saved_tensors
        inner = grad * (1 - y * y)
        return inner @ weight, inner.t() @ x, inner.sum(0)
"""
ANSWERS = {
    "it times itself and prints": _answer(
        "relu",
        f"start = time.perf_counter()\ny = {_RELU}\ntorch.cuda.synchronize()\n"
        "if self.verbose: print(f'{(time.perf_counter() - start) * 1e6:.1f} us')\nreturn y",
        before="self.verbose = True",
        top="import time\n",
    ),
    "it times itself by a context": _answer(
        "relu", f"with timed('relu', self.times): return {_RELU}", before="self.times = {}", top=_TIMER
    ),
    "events that time it": _answer("relu", _EVENTS, before="self.milliseconds = []"),
    "the fastest of two kernels": _answer("relu", _TUNED, before="self.best = {}", top="import time\n"),
    "a kernel for the kind of device": _answer("relu", _CHOICE),
    "a clock of C++": _answer("relu", "y, seconds = extension.relu_timed(x, self.scale)\nreturn y"),
    "a logger named for its module": _answer(
        "relu",
        f"self.log.debug('x is %s', tuple(x.shape))\nreturn {_RELU}",
        before="self.log = logging.getLogger(f'{self.__class__.__module__}.{self.__class__.__qualname__}')",
        top="import logging\n",
    ),
    "environment variables of its own": _answer(
        "relu",
        f"if self.debug: print(x.shape)\nreturn {_RELU}",
        before="self.debug = os.environ.get('KERNEL_DEBUG', '0') == '1'",
        top="import os\nos.environ.setdefault('CUDA_LAUNCH_BLOCKING', '0')\n"
        "print(os.environ.get('CUDA_VISIBLE_DEVICES'), os.getenv('TORCH_EXTENSIONS_DIR'), os.environ.get('TMPDIR'))\n",
    ),
    "versions and backends": _answer(
        "relu",
        f"return {_RELU}",
        before="assert torch.version.cuda is not None and torch.version.hip is None\n"
        "assert torch.cuda.is_available() and torch.backends.cudnn.is_available() in (True, False)",
        top="torch.backends.cuda.matmul.allow_tf32 = False\ntorch.backends.cudnn.allow_tf32 = False\n"
        "torch.backends.cudnn.benchmark = True\ntorch.set_float32_matmul_precision('highest')\n"
        "TORCH = tuple(int(part) for part in torch.__version__.split('+')[0].split('.')[:2])\nassert TORCH >= (2, 0)\n",
    ),
    "print, log and warn": _answer(
        "relu",
        f"warnings.warn('slow path', stacklevel=2)\nprint('shape', x.shape, file=sys.stderr)\nreturn {_RELU}",
        before="logging.basicConfig(level=logging.INFO)\nlogging.info('made with %s', scale)",
        top="import logging, sys, warnings\n",
    ),
    "a build in a cached function": ("relu", _OWN_BUILD.format(function="load_inline", build=_CACHED)),
    "a build in a folder": ("relu", _OWN_BUILD.format(function="load", build=_IN_A_FOLDER)),
    "a workspace in a cached function": _answer(
        "relu",
        "y = workspace(tuple(x.shape), x.dtype, x.device)\nextension.relu_into(x, y, self.scale)\nreturn y.clone()",
        top="import functools\n@functools.lru_cache(maxsize=8)\ndef workspace(shape, dtype, device):\n"
        "    return torch.empty(shape, dtype=dtype, device=device)\n",
    ),
    "a tree of modules": _answer("relu", "return self.net(x)", before="self.net = Block(Scale(scale))", top=_TREE),
    "a sequence of modules": _answer(
        "relu",
        "return self.net(x)",
        before="self.net = nn.Sequential(nn.Identity(), Scale(scale), nn.Dropout(0.0))",
        top=_TREE,
    ),
    "a configuration": _answer(
        "relu", "return self.config.kernel(tuple(x.shape))(x, self.scale)", before="self.config = Config()", top=_CONFIG
    ),
    "a fallback that is not needed": _answer("relu", _FALLBACK, top="import warnings\n"),
    "gradients of a layer": _answer(
        "linear", "return LinearTanh.apply(x, self.linear.weight, self.linear.bias)", top=_FUNCTION
    ),
    "parameters of its own": _answer(
        "linear",
        "return extension.tanh_of(extension.product_of(x, self.weight), self.bias)",
        before="linear = self.linear\ndel self.linear\nself.weight, self.bias = linear.weight, linear.bias",
    ),
    "weights packed in the first call and when they change": _answer(
        "linear",
        "w = self.linear.weight\nif self.packed is None or self.version != w._version:\n"
        "    self.packed, self.version = w.detach().t().contiguous().t().contiguous(), w._version\n"
        "return extension.tanh_of(extension.product_of(x, self.packed), self.linear.bias)",
        before="self.packed, self.version = None, -1",
    ),
    "devices, synchronization and ranges": _answer(
        "relu",
        "with torch.cuda.device(x.device):\n    torch.cuda.nvtx.range_push('relu')\n"
        f"    y = {_RELU}\n    torch.cuda.nvtx.range_pop()\n"
        "torch.cuda.current_stream().synchronize()\nassert y.device.index == torch.cuda.current_device()\nreturn y",
    ),
    "decorators and hints": _answer(
        "relu",
        "return run(x, self.scale)",
        top="""
        from typing import Final
        LIMIT: Final[int] = 1 << 30
        @torch.no_grad()
        def run(x: torch.Tensor, scale: float) -> torch.Tensor:
            assert x.dim() == 2 and x.numel() < LIMIT, f"unexpected shape {tuple(x.shape)}"
            return extension.relu_of(x, scale)
        """,
    ),
    "a test of its own below": (
        "relu",
        _answer("relu", f"return {_RELU}")[1]
        + "\n\nif __name__ == '__main__':\n    import sys, time\n    x = torch.randn(64, 64, device='cuda')\n"
        "    start = time.time()\n    y = ModelNew(2.0).cuda()(x)\n    print(time.time() - start, sys.argv)\n"
        "    torch.testing.assert_close(y, torch.relu(x) * 2)\n",
    ),
}
"""The task and the answer, by what is unusual."""
