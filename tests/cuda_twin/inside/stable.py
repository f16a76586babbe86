"""An extension on PyTorch's stable ABI, whose own headers are all of PyTorch's that it may include."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opbridge as ob

SOURCE = """
#include <cuda_runtime.h>
#include <torch/csrc/stable/accelerator.h>
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

STABLE_TORCH_LIBRARY(stable_on_the_twin, m) { m.def("filled(Tensor like, int value, int threads) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(stable_on_the_twin, CUDA, m) { m.impl("filled", TORCH_BOX(&filled)); }
"""


def test_it_runs(tmp_path: Path) -> None:
    (tmp_path / "stable.cu").write_text(SOURCE)
    ob.extension(
        "stable",
        sources=[tmp_path / "stable.cu"],
        extra_cuda_cflags=["-DTORCH_TARGET_VERSION=0x020d000000000000", "-DUSE_CUDA"],
        is_python_module=False,
    )
    filled = torch.ops.stable_on_the_twin.filled
    like = torch.zeros(700, dtype=torch.int32, device="cuda")
    assert filled(like, 7, 64).cpu().unique().tolist() == [7]
    with pytest.raises(RuntimeError, match="CUDA error: invalid configuration argument"):
        filled(like, 7, 2048)
