"""PyTorch's own tensors on a GPU: kernels by nvcc, formulas, extensions.

Under `opbridge twin run` the twin stands in for it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import func

import opbridge as ob
from opbridge.base.errors import OpbridgeError
from opbridge.waist.op import OpLibrary

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# PyTorch's own words on parts of itself that torch.compile imports.
pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PLAIN = """
#include <cuda_runtime.h>

static __global__ void cubes(const float* x, float* out, long n) {
  const long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = x[i] * x[i] * x[i];
}

extern "C" int Cube(int count, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream, void*) {
  long n = 1;
  for (int axis = 0; axis < ndims[0]; ++axis) n *= shapes[0][axis];
  if (n) cubes<<<(n + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(params[0]), static_cast<float*>(params[1]), n);
  return cudaGetLastError();
}
"""

FORMULAS = {
    "swiglu": ("(Tensor x, Tensor y) -> Tensor", "x * sigmoid(x) * y", lambda x, y: torch.nn.functional.silu(x) * y),
    "norm": (
        "(Tensor x, Tensor y) -> Tensor",
        "x * rsqrt(mean(x * x, -1, keepdim=True) + 1e-6) * y",
        lambda x, y: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * y,
    ),
    "softmax": ("(Tensor x, Tensor y) -> Tensor", "softmax(x + y, -1)", lambda x, y: torch.softmax(x + y, -1)),
    "running": ("(Tensor x, Tensor y) -> Tensor", "cumsum(x * y, -1)", lambda x, y: torch.cumsum(x * y, -1)),
    "loss": ("(Tensor x, Tensor y) -> Tensor", "mean(square(x - y))", lambda x, y: (x - y).square().mean()),
}


@pytest.fixture(scope="module")
def library() -> OpLibrary:
    return ob.load(BENCHMARKS / "kernels" / "gpu.yaml")


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Any:
    source = tmp_path_factory.mktemp("cube") / "cube.cu"
    source.write_text(PLAIN)
    rules: dict[str, Any] = {"out": "x", "derivatives": {"x": "3 * x * x * grad"}, "batch": "elementwise"}
    return ob.load(f"{source}:Cube", device="cuda", schema="gpu_tests::cube(Tensor x) -> Tensor", **rules)


def test_a_plain_kernel_is_an_operator_of_pytorchs(cube: Any) -> None:
    x = torch.randn(3, 100, device="cuda", requires_grad=True)
    torch.testing.assert_close(cube(x), x**3)
    (gradient,) = torch.autograd.grad(cube(x).sum(), x)
    torch.testing.assert_close(gradient, 3 * x * x)
    torch.testing.assert_close(func.vmap(cube)(x), x**3)
    torch.testing.assert_close(cube(x[:, ::2]), x[:, ::2] ** 3)
    assert cube(torch.empty(0, 3, device="cuda")).shape == (0, 3)


@pytest.mark.parametrize("options", [{}, {"mode": "reduce-overhead"}], ids=["default", "graphs"])
def test_torch_compile_takes_it(cube: Any, options: dict[str, Any]) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: cube(x).sin() + 1, fullgraph=True, **options)
    for _ in range(3):
        x = torch.randn(64, device="cuda")
        torch.testing.assert_close(compiled(x).clone(), (x**3).sin() + 1)


def test_pytorch_finds_nothing_to_object_to(library: OpLibrary) -> None:
    x, y = (torch.randn(4, 5, device="cuda", requires_grad=True) for _ in range(2))
    torch.library.opcheck(library.saxpy.torch, (x, y), {"alpha": 0.5})


def test_tensors_of_two_devices_are_told_apart(library: OpLibrary) -> None:
    with pytest.raises((OpbridgeError, RuntimeError), match=r"(?s)cuda.*cpu|cpu.*cuda"):
        library.saxpy(torch.randn(3, device="cuda"), torch.randn(3))


def test_the_host_has_no_kernel_and_says_so(library: OpLibrary) -> None:
    with pytest.raises((OpbridgeError, RuntimeError), match=r"cpu"):
        library.saxpy(torch.randn(3), torch.randn(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (7, 33), (64, 1000), (3, 70_001), (0, 5)], ids=str)
@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula(name: str, shape: tuple[int, int], dtype: torch.dtype) -> None:
    signature, text, reference = FORMULAS[name]
    op = ob.formula(f"gpu_tests::{name}{signature}", text)
    if name == "loss" and 0 in shape:
        pytest.skip("a mean of nothing")
    torch.manual_seed(0)
    x, y = (torch.randn(shape, device="cuda").to(dtype).requires_grad_() for _ in range(2))
    wide = [value.detach().double().requires_grad_() for value in (x, y)]
    got, expected = op(x, y), reference(*wide)
    # What 70,001 terms of a sum lose of a float is not looked at here.
    close = {"rtol": 2e-4, "atol": 2e-3} if dtype == torch.float32 else {}
    torch.testing.assert_close(got, expected.to(dtype), **close)
    if dtype in (torch.float32, torch.float64):
        grad = torch.randn_like(got)
        ours = torch.autograd.grad(got, (x, y), grad)
        theirs = torch.autograd.grad(expected, wide, grad.double())
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other.to(dtype), **({"rtol": 2e-4, "atol": 5e-2} if close else {}))


def test_a_formula_is_differentiated_twice_and_forwards() -> None:
    signature, text, _ = FORMULAS["norm"]
    op = ob.formula(f"gpu_tests::norm{signature}", text)
    x, y = (torch.randn(3, 5, device="cuda", dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(op, (x, y), check_forward_ad=True)
    torch.autograd.gradgradcheck(op, (x, y))


def test_an_extension_as_pytorchs_module_builds_it() -> None:
    from opbridge.compat import cpp_extension

    source = """
    #include <torch/extension.h>
    __global__ void add_one(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = x[i] + 1;
    }
    at::Tensor plus_one(at::Tensor x) {
      auto y = at::empty_like(x);
      add_one<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
      return y;
    }
    """
    module = cpp_extension.load_inline(
        "gpu_tests_inline", "at::Tensor plus_one(at::Tensor x);", cuda_sources=source, functions=["plus_one"]
    )
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(module.plus_one(x), x + 1)


def test_the_template_for_cuda_passes_its_tests(tmp_path: Path) -> None:
    opbridge = [sys.executable, "-m", "opbridge"]
    subprocess.run([*opbridge, "new", "scaled", "--template", "cuda"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "scaled",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no driver's tools")
@pytest.mark.parametrize("command", [["check"], ["bench", "--rounds", "3"]], ids=lambda command: command[0])
def test_the_commands_take_the_gpus_kernels(command: list[str], tmp_path: Path) -> None:
    manifest = str(BENCHMARKS / "kernels" / "gpu.yaml")
    done = subprocess.run(
        [sys.executable, "-m", "opbridge", *command, "--device", "cuda", "--framework", "torch", manifest],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
