"""An extension as programs have it, built by torch.utils.cpp_extension's own name and run checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from subprocesses import python
from tests.twins.cuda import test_bindings as bindings

import opbridge as ob
from opbridge.base.errors import KernelError

CUDA = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <THC/THCAtomics.cuh>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

template <class T>
__global__ void relu(const T* __restrict__ x, T* __restrict__ y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = x[i] > T(0) ? x[i] : T(0);
}

__global__ void sum(const float* x, float* total, int n) {
  float value = threadIdx.x < n ? x[threadIdx.x] : 0.f;
  for (int step = 16; step > 0; step /= 2) value += WARP_SHFL_DOWN(value, step);
  if (threadIdx.x % 32 == 0) gpuAtomicAdd(total, value);
}

__global__ void assert_negative(int n) { assert(n < 0); }

torch::Tensor relu_of(torch::Tensor x, int64_t beyond, bool check) {
  TORCH_CHECK(x.device().is_cuda() && x.is_contiguous(), "expected a contiguous CUDA tensor");
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto y = torch::empty_like(x);
  const int64_t n = x.numel() + beyond;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu", [&] {
    relu<scalar_t><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
  });
  if (check) C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

torch::Tensor sum_of(torch::Tensor x) {
  auto total = torch::zeros({}, torch::dtype(torch::kFloat32).device(torch::kCUDA));
  sum<<<1, 64>>>(x.data_ptr<float>(), total.data_ptr<float>(), x.numel());
  return total;
}

struct Tripled {
  __device__ void operator()(float& to, const float& from) const { to = 3 * from; }
};

torch::Tensor tripled(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options());
  const bool done = at::cuda::CUDA_tensor_apply2<float, float>(y, x, Tripled());
  TORCH_CHECK(done, "not applied");
  return y;
}

void refused() { assert_negative<<<1, 1>>>(3); }

torch::Tensor product(torch::Tensor x, torch::Tensor y) {
  auto z = torch::empty({x.size(0), y.size(1)}, x.options());
  const float one = 1, zero = 0;
  const int m = y.size(1), n = x.size(0), k = x.size(1);
  TORCH_CUDABLAS_CHECK(cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one,
                                   y.data_ptr<float>(), m, x.data_ptr<float>(), k, &zero, z.data_ptr<float>(), m));
  return z;
}

void no_system(int64_t rows) {
  cusolverDnHandle_t handle = nullptr;
  TORCH_CUSOLVER_CHECK(cusolverDnCreate(&handle));
  int elements = 0;
  TORCH_CUSOLVER_CHECK(cusolverDnSgetrf_bufferSize(handle, rows, rows, nullptr, rows, &elements));
}

double first_on_the_host(torch::Tensor x) { return x.data_ptr<float>()[0]; }
int64_t stream() { return reinterpret_cast<int64_t>(at::cuda::getCurrentCUDAStream().stream()); }
"""

CPP = """
torch::Tensor relu_of(torch::Tensor x, int64_t beyond, bool check);
torch::Tensor sum_of(torch::Tensor x);
torch::Tensor tripled(torch::Tensor x);
void refused();
torch::Tensor product(torch::Tensor x, torch::Tensor y);
void no_system(int64_t rows);
double first_on_the_host(torch::Tensor x);
int64_t stream();
"""


PYBIND11 = bool(os.environ.get("BOUND_BY_PYBIND11"))
NAMES = ("relu_of", "sum_of", "tripled", "product", "no_system", "refused", "first_on_the_host", "stream")
OWN_FUNCTION = """
#include <cuda_runtime_api.h>

inline float min(float a, float b) { return a < b ? a : b; }  // of the host's own, for only nvcc has one
"""
"""Code beside declarations has pybind11 bind the functions, whose headers take long to read."""


@pytest.fixture(scope="module")
def extension() -> Any:
    from torch.utils.cpp_extension import CUDA_HOME, load_inline

    assert CUDA_HOME is not None
    return load_inline(
        name="inside",
        cpp_sources=(OWN_FUNCTION if PYBIND11 else "") + CPP + bindings.DECLARED,
        cuda_sources=CUDA + bindings.DEFINED,
        functions=[*NAMES, *bindings.NAMES],
        extra_cuda_cflags=["-O3", "--use_fast_math"],
        verbose=False,
    )


@pytest.fixture
def bound(extension: Any) -> Any:
    return extension


if not PYBIND11:  # which describes the same types in other words
    test_values_go_there_and_back = bindings.test_values_go_there_and_back
test_other_arguments_are_refused = bindings.test_other_arguments_are_refused
test_errors_are_pytorchs = bindings.test_errors_are_pytorchs
test_gradients_pass_through = bindings.test_gradients_pass_through


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_kernels_compute(extension: Any, dtype: torch.dtype) -> None:
    x = torch.randn(1000, device="cuda", dtype=dtype)
    assert torch.equal(extension.relu_of(x, 0, True), torch.relu(x))


def test_warps_and_atomics(extension: Any) -> None:
    x = torch.arange(50.0, device="cuda")
    assert extension.sum_of(x).item() == x.sum().item()


def test_headers_of_pytorch_that_launch_kernels(extension: Any) -> None:
    x = torch.arange(12.0, device="cuda").reshape(3, 4).t()
    assert torch.equal(extension.tripled(x), 3 * x)
    assert torch.equal(extension.tripled(x[:1].expand(5, 3)), 3 * x[:1].expand(5, 3))


def test_the_library_that_pytorch_has_a_handle_of(extension: Any) -> None:
    x, y = torch.randn(3, 4, device="cuda"), torch.randn(4, 5, device="cuda")
    torch.testing.assert_close(extension.product(x, y), x @ y)


def test_what_a_library_refuses_is_an_error(extension: Any) -> None:
    extension.no_system(3)
    with pytest.raises(RuntimeError, match=r"cusolver error: 3, when calling `cusolverDnSgetrf_bufferSize"):
        extension.no_system(-1)


def test_errors_arrive_when_results_are_looked_at(extension: Any) -> None:
    x = torch.randn(1000, device="cuda")
    y = extension.relu_of(x, 5, False)
    with pytest.raises(torch.AcceleratorError, match="CUDA error: an illegal memory access") as error:
        y.cpu()
    assert "read of 4 bytes out of bounds" in str(error.value)
    assert "0 bytes after the end of the 4000 bytes that PyTorch gave" in str(error.value)
    assert torch.equal(extension.relu_of(x, 0, True), torch.relu(x)), "the process goes on"


def test_errors_arrive_where_they_are_asked_for(extension: Any) -> None:
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        extension.relu_of(torch.randn(1000, device="cuda"), 5, True)


def test_what_nobody_asked_for_is_said_at_the_end(extension: Any) -> None:
    """In a process that ends after its launch, with the build of this one."""
    program = f"""
import sys, torch, opbridge.cuda_twin
sys.path.insert(0, {str(Path(extension.__file__).parent)!r})
import inside
inside.relu_of(torch.randn(1000, device="cuda"), 5, False)
print("it ends")
"""
    done = python(program)
    assert done.stdout == "it ends\n", done.stderr
    assert "CUDA error: an illegal memory access" in done.stderr
    assert "0 bytes after the end of the 4000 bytes that PyTorch gave" in done.stderr


def test_an_assertion_in_a_kernel(extension: Any) -> None:
    extension.refused()
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        torch.cuda.synchronize()


def test_memory_that_nobody_wrote(extension: Any) -> None:
    with pytest.raises(RuntimeError, match="uninitialised-memory"):
        extension.relu_of(torch.empty(100, device="cuda"), 0, True)


def test_memory_of_the_host(extension: Any) -> None:
    with pytest.raises(RuntimeError, match="expected a contiguous CUDA tensor"):
        extension.relu_of(torch.ones(3), 0, True)
    with pytest.raises(RuntimeError, match="host-memory"):
        extension.sum_of(torch.ones(3)).item()


def test_host_code_that_reads_the_device(extension: Any) -> None:
    """It gets the value, and is told at the next look at the device."""
    assert extension.first_on_the_host(torch.ones(3)) == 1
    torch.cuda.synchronize()
    assert extension.first_on_the_host(torch.ones(3, device="cuda")) == 1
    with pytest.raises(torch.AcceleratorError, match="read of 4 bytes of device memory in host code"):
        torch.cuda.synchronize()


def test_the_current_stream_is_the_programs(extension: Any) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert extension.stream() == stream.cuda_stream != 0
    assert extension.stream() == 0


def test_an_operator_of_opbridge_runs_its_kernel_for_cuda() -> None:
    source = """
    __global__ void twice(const float* x, float* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = 2 * x[i];
    }
    extern "C" int twice_of(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                            void* extra) {
      twice<<<1, 256>>>((float*)params[0], (float*)params[1], shapes[0][0] == 3 ? 4 : shapes[0][0]);
      return 0;
    }
    """
    schema = "inside::twice_of(Tensor x) -> Tensor"
    twice = ob.inline(source, schema=schema, out="x", device="cuda", derivatives={"x": "2 * grad"})
    x = torch.ones(5, device="cuda", requires_grad=True)
    twice(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))
    with pytest.raises(KernelError, match="out of bounds"):
        twice(torch.ones(3, device="cuda"))
