"""opbridge compile of kernels that call PyTorch's operators; the library serves a MindSpore that knows no opbridge."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forked_python import PYTHON

import opbridge as ob
from opbridge.build.cache import Cache

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

needs_mindspore = pytest.mark.skipif(importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed")

KERNELS = """\
#include <string.h>
#include <torch/extension.h>

#include "ms_ext.h"

#define AOT_PARAMETERS \\
  int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra

extern "C" int Softplus(AOT_PARAMETERS) {
  auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  torch::softplus_out(tensors[1], tensors[0]);
  return 0;
}

extern "C" int CopiedSoftplus(AOT_PARAMETERS) {
  auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  torch::Tensor output = torch::softplus(tensors[0]);
  tensors[1].copy_(output);
  return 0;
}

extern "C" int Mm(AOT_PARAMETERS) {
  auto tensors = get_torch_tensors(nparam, params, ndims, shapes, dtypes, c10::kCPU);
  torch::mm_out(tensors[2], tensors[0], tensors[1]);
  return 0;
}
"""

PLAIN = """\
#include <stdint.h>
extern "C" int seven(int, void**, int*, int64_t**, const char**, void*, void*) { return 7; }
"""
X = np.array([[0.0, -1.0], [2.0, 30.0]], np.float32)
EXPECTED = np.log1p(np.exp(X.astype(np.float64))).astype(np.float32)


@pytest.fixture
def compile_kernels(opbridge: Opbridge, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """In the user's own cache, where PyTorch's headers are precompiled already when this is not the first run."""

    def compile_kernels(text: str = KERNELS, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "softplus.cpp").write_text(text)
        arguments = arguments or ("softplus.cpp", "out/softplus.so")
        return opbridge("compile", *arguments, OPBRIDGE_CACHE_DIR=str(Cache().root))

    return compile_kernels


@pytest.fixture
def library(compile_kernels: Opbridge, tmp_path: Path) -> Path:
    result = compile_kernels()
    assert result.returncode == 0, result.stderr
    return tmp_path / "out" / "softplus.so"


def test_it_lists_what_the_library_offers(compile_kernels: Opbridge) -> None:
    lines = compile_kernels().stdout.splitlines()
    assert lines[0].startswith("out/softplus.so  ")
    assert sorted(lines[1:]) == [f"  {name}  a bare aot function" for name in ("CopiedSoftplus", "Mm", "Softplus")]


def test_an_edit_is_compiled_and_taking_it_back_finds_the_old_result(compile_kernels: Opbridge, tmp_path: Path) -> None:
    contents = []
    for text in (PLAIN, PLAIN.replace("7", "8"), PLAIN):
        assert compile_kernels(text).returncode == 0
        contents.append((tmp_path / "out" / "softplus.so").read_bytes())
    assert contents[0] == contents[2] != contents[1]


def test_a_mistake_is_told_with_its_line_and_leaves_the_old_library(
    compile_kernels: Opbridge, library: Path, tmp_path: Path
) -> None:
    before = library.read_bytes()
    result = compile_kernels(KERNELS.replace("torch::softplus_out", "torch::softminus_out"))
    assert result.returncode == 3
    assert "error: softplus.cpp:11:10: error: " in result.stderr  # as the command named it
    assert "softminus_out" in result.stderr
    assert library.read_bytes() == before


class TestElsewhereInOpbridge:
    """The same file and its library as operators of every framework."""

    SCHEMA = "compile_test::%s(Tensor x) -> Tensor"

    def test_the_library(self, library: Path) -> None:
        op = ob.aot(f"{library}:Softplus", schema=self.SCHEMA % "softplus", out="x")
        np.testing.assert_allclose(op(X), EXPECTED, rtol=1e-6)

    def test_the_source(self, library: Path) -> None:
        source = library.parents[1] / "softplus.cpp"
        op = ob.load(f"{source}:CopiedSoftplus", schema=self.SCHEMA % "copied_softplus", out="x")
        np.testing.assert_allclose(op(X), EXPECTED, rtol=1e-6)

    def test_in_a_manifest(self, library: Path) -> None:
        manifest = library.parents[1] / "ops.yaml"
        manifest.write_text(
            "namespace: compile_test\nops:\n"
            "  - {func: listed_softplus(Tensor x) -> Tensor, out: x, kernels: {cpu: 'softplus.cpp:Softplus'}}\n"
        )
        np.testing.assert_allclose(ob.load(manifest).listed_softplus(X), EXPECTED, rtol=1e-6)

    def test_what_pytorch_says_reaches_the_caller(self, library: Path) -> None:
        schema = "compile_test::mm(Tensor x, Tensor y) -> Tensor"
        op = ob.aot(f"{library}:Mm", schema=schema, out="x")
        with pytest.raises(ob.errors.KernelError, match="mat1 and mat2 shapes cannot be multiplied"):
            op(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))


MINDSPORE = """
import sys
%(first)s
import numpy as np
import mindspore as ms
from mindspore import nn, ops

class Net(nn.Cell):
    def __init__(self, function, shape):
        super().__init__()
        self.op = ops.Custom("./softplus.so:" + function, out_shape=shape, out_dtype=lambda *x: x[0], func_type="aot")

    def construct(self, *inputs):
        return self.op(*inputs)

x = np.array(%(x)s, np.float32)
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode, device_target="CPU")
    for function in ("Softplus", "CopiedSoftplus"):
        result = Net(function, lambda x: x)(ms.Tensor(x)).asnumpy()
        np.testing.assert_allclose(result, np.log1p(np.exp(x)), rtol=1e-6)
    for y, words in ((ms.Tensor(x[:1]), "cannot be multiplied"), (ms.Tensor(x.astype(np.int8)), "dtype")):
        try:
            Net("Mm", lambda x, y: x)(ms.Tensor(x), y).asnumpy()
        except RuntimeError as error:
            assert words in str(error), error
        else:
            raise SystemExit("that was to fail")
print("opbridge" in sys.modules, "torch" in sys.modules)
"""


@needs_mindspore
class TestMindSpore:
    @pytest.mark.cases(1)
    @pytest.mark.parametrize(("first", "torch_imported"), [("", False), ("import torch", True)])
    def test_runs_the_library_without_opbridge(self, library: Path, first: str, torch_imported: bool) -> None:
        # In a file, for graph mode reads its own source.
        (library.parent / "program.py").write_text(MINDSPORE % {"first": first, "x": X.tolist()})
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        run = subprocess.run(
            [PYTHON, "program.py"],
            cwd=library.parent,
            env={**environment, "GLOG_v": "4"},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.split() == ["False", str(torch_imported)]


CUDA_ADD = """\
__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

extern "C" int Add(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                   void* extra) {
  int n = shapes[2][0];
  add<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float*>(params[0]), static_cast<float*>(params[1]), static_cast<float*>(params[2]), n);
  return 0;
}
"""

PLAIN_MINDSPORE = """\
import sys
import mindspore as ms
from mindspore import nn, ops

x, y = ms.Tensor([1.0, 2.0, 3.0], ms.float32), ms.Tensor([3.0, 2.0, 1.0], ms.float32)
add = ops.Custom("./add.so:Add", out_shape=[3], out_dtype=ms.float32, func_type="aot")

class Product(nn.Cell):
    def construct(self, x, y):
        return add(x, y)

    def bprop(self, x, y, out, dout):
        return y, x

for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
    ms.set_context(mode=mode)
    print(Product()(x, y), *ms.grad(Product(), (0, 1))(x, y))
assert "opbridge" not in sys.modules
"""


@needs_mindspore
def test_a_cuda_source_for_plain_mindspore_on_a_cpu(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "add.cu").write_text(CUDA_ADD)
    cache = str(Cache().root)
    result = opbridge("compile", "--device", "cuda-twin", "add.cu", "out/add.so", OPBRIDGE_CACHE_DIR=cache)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1:] == ["  Add  a bare aot function"]
    (tmp_path / "run.py").write_text(PLAIN_MINDSPORE)
    # What the library needs lies beside it.
    environment = {**os.environ, "OPBRIDGE_CACHE_DIR": str(tmp_path / "none"), "GLOG_v": "4"}
    command = [PYTHON, tmp_path / "run.py"]
    run = subprocess.run(command, cwd=tmp_path / "out", env=environment, capture_output=True, text=True)
    assert run.stdout == 2 * "[4. 4. 4.] [3. 2. 1.] [1. 2. 3.]\n", run.stderr


ENTRY_POINTS = Path(__file__).parents[1] / "twins" / "cuda" / "entry_points.cu"


def test_functions_behind_macros_for_any_host_on_a_cpu(opbridge: Opbridge, tmp_path: Path) -> None:
    """The host's tensors are lent to the twin by the library itself: nothing of opbridge calls it."""
    cache = {"OPBRIDGE_CACHE_DIR": str(Cache().root)}
    result = opbridge("compile", "--device", "cuda-twin", ENTRY_POINTS, "entry_points.so", **cache)
    assert result.returncode == 0, result.stderr
    library = ctypes.CDLL(str(tmp_path / "entry_points.so"))
    x = np.arange(300, dtype=np.float32)
    for name in ("behind_a_word", "behind_its_arguments", "behind_everything"):
        y = np.zeros_like(x)
        params = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        sizes = (ctypes.c_int64 * 1)(x.size)
        shapes = (ctypes.POINTER(ctypes.c_int64) * 2)(sizes, sizes)
        dtypes = (ctypes.c_char_p * 2)(b"float32", b"float32")
        assert getattr(library, name)(2, params, (ctypes.c_int * 2)(1, 1), shapes, dtypes, None, None) == 0
        np.testing.assert_array_equal(y, 2 * x, err_msg=name)


ASCEND_KERNELS = Path(__file__).parents[1] / "build" / "sources" / "ascend_kernels.cpp"


def test_ascend_c_for_a_cpu_offers_what_starts_kernels_and_not_the_kernels(opbridge: Opbridge, tmp_path: Path) -> None:
    cache = {"OPBRIDGE_CACHE_DIR": str(Cache().root)}
    result = opbridge("compile", "--device", "ascend-twin", ASCEND_KERNELS, "out/kernels.so", **cache)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1:] == ["  twice  (In<float32>, Out<float32>)"]
    assert sorted(os.listdir(tmp_path / "out")) == ["kernels.so", "libopbridge_ascend_twin.so"]
    twice = ob.aot(tmp_path / "out" / "kernels.so:twice", schema="compiled_on_npu::twice(Tensor x) -> Tensor", out="x")
    assert twice(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_ascend_c_with_nothing_that_starts_its_kernel(opbridge: Opbridge, tmp_path: Path) -> None:
    (tmp_path / "kernel.cpp").write_text(
        '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void kernel(GM_ADDR x) {}\n'
    )
    cache = {"OPBRIDGE_CACHE_DIR": str(Cache().root)}
    result = opbridge("compile", "--device", "ascend-twin", "kernel.cpp", "kernel.so", **cache)
    assert result.returncode == 2
    assert "exports no kernel\n  add a function on kernel.h, or with the plain C call, that starts the kernel" in (
        result.stderr
    )
