"""An extension on PyTorch's stable ABI, whose own headers are all of PyTorch's that it may include."""

from __future__ import annotations

import pytest
import torch

import opbridge as ob

SOURCE = """
#include <cuda_runtime.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

using torch::stable::Tensor;

__global__ void fill(int* out, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

Tensor filled(Tensor like, int64_t value, int64_t threads) {
  namespace accelerator = torch::stable::accelerator;
  accelerator::DeviceGuard guard(like.get_device_index());
  const auto stream = accelerator::getCurrentStream(like.get_device_index()).nativeHandle();
  Tensor out = torch::stable::empty_like(like);
  const int n = static_cast<int>(like.numel());
  fill<<<n / 64 + 1, static_cast<int>(threads), 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<int*>(out.mutable_data_ptr()), n, static_cast<int>(value));
  STD_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

void choose(int64_t device) { STD_CUDA_CHECK(cudaSetDevice(static_cast<int>(device))); }

int64_t given_back = 0;
void give_back(void* memory) { given_back += cudaFree(memory) == cudaSuccess; }
int64_t count_given_back() { return given_back; }

Tensor around_memory_of_its_own(int64_t n, torch::stable::Device device) {
  void* memory = nullptr;
  STD_CUDA_CHECK(cudaMalloc(&memory, n * sizeof(int)));
  fill<<<1, 64>>>(static_cast<int*>(memory), static_cast<int>(n), 3);
  const int64_t stride = 1;
  return torch::stable::from_blob(memory, {&n, 1}, {&stride, 1}, device, torch::headeronly::ScalarType::Int, give_back);
}

int64_t blas_handle() {
  void* handle = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_get_current_cuda_blas_handle(&handle));
  return reinterpret_cast<int64_t>(handle);
}

STABLE_TORCH_LIBRARY(stable_on_the_twin, m) {
  m.def("around_memory_of_its_own(int n, Device device) -> Tensor");
  m.def("count_given_back() -> int");
  m.def("blas_handle() -> int");
  m.def("filled(Tensor like, int value, int threads) -> Tensor");
  m.def("choose(int device) -> ()");
}
STABLE_TORCH_LIBRARY_IMPL(stable_on_the_twin, CompositeExplicitAutograd, m) {
  m.impl("choose", TORCH_BOX(&choose));
  m.impl("around_memory_of_its_own", TORCH_BOX(&around_memory_of_its_own));
  m.impl("count_given_back", TORCH_BOX(&count_given_back));
  m.impl("blas_handle", TORCH_BOX(&blas_handle));
}
STABLE_TORCH_LIBRARY_IMPL(stable_on_the_twin, CUDA, m) { m.impl("filled", TORCH_BOX(&filled)); }
"""


@pytest.fixture(scope="module", autouse=True)
def _extension(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("stable") / "stable.cu"
    source.write_text(SOURCE)
    ob.extension(
        "stable",
        sources=[source],
        extra_cuda_cflags=["-DTORCH_TARGET_VERSION=0x020d000000000000", "-DUSE_CUDA"],
        is_python_module=False,
    )


def test_it_runs() -> None:
    filled = torch.ops.stable_on_the_twin.filled
    like = torch.zeros(700, dtype=torch.int32, device="cuda")
    assert filled(like, 7, 64).cpu().unique().tolist() == [7]
    with pytest.raises(RuntimeError, match="CUDA error: invalid configuration argument"):
        filled(like, 7, 2048)
    with pytest.raises(RuntimeError, match=r"invalid device ordinal(.*\n)+.*do you have enough GPUs\?"):
        torch.ops.stable_on_the_twin.choose(5)


def test_a_tensor_may_be_made_around_memory_that_it_allocates() -> None:
    ours = torch.ops.stable_on_the_twin
    tensor = ours.around_memory_of_its_own(4, "cuda:0")
    assert tensor.is_cuda
    assert (tensor + 1).tolist() == [4] * 4
    del tensor
    assert ours.count_given_back() == 1


def test_its_handle_of_cublas_is_that_of_python() -> None:
    assert torch.ops.stable_on_the_twin.blas_handle() == torch.cuda.current_blas_handle()
