"""An extension on PyTorch's stable ABI whose sources share a header, one for the host and one for the device."""

from __future__ import annotations

from pathlib import Path

import torch

import opbridge as ob

SUM_HEADER = """
#include <cstdint>
#ifdef __CUDACC__
#define FOR_DEVICE __global__
#else
#define FOR_DEVICE
#endif
template <class T>
FOR_DEVICE void add_up(const T* x, T* sum, int64_t n) {
  for (int64_t i = 0; i < n; i++) *sum += x[i];
}
"""
SUM_HEADERS = """
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include "sum.h"
using torch::stable::Tensor;
"""
SUM_HOST = f"""{SUM_HEADERS}
Tensor total_on_host(Tensor x) {{
  Tensor sum = torch::stable::new_zeros(x, {{1}});
  add_up<float>(static_cast<const float*>(x.data_ptr()), static_cast<float*>(sum.data_ptr()), x.numel());
  return sum;
}}
STABLE_TORCH_LIBRARY(stable_twice, m) {{ m.def("total(Tensor x) -> Tensor"); }}
STABLE_TORCH_LIBRARY_IMPL(stable_twice, CPU, m) {{ m.impl("total", TORCH_BOX(&total_on_host)); }}
"""
SUM_DEVICE = f"""{SUM_HEADERS}
#include <cuda_runtime.h>
Tensor total_on_device(Tensor x) {{
  Tensor sum = torch::stable::new_zeros(x, {{1}});
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  add_up<float><<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<float*>(sum.data_ptr()), x.numel());
  TORCH_ERROR_CODE_CHECK(torch_cuda_stream_synchronize(stream, x.get_device_index()));
  return sum;
}}
STABLE_TORCH_LIBRARY_IMPL(stable_twice, CUDA, m) {{ m.impl("total", TORCH_BOX(&total_on_device)); }}
"""


def test_beside_a_source_for_the_host(tmp_path: Path) -> None:
    """Of which CUDA's compiler sees nothing, and it nothing of PyTorch's version."""
    for name, text in (("sum.h", SUM_HEADER), ("host.cpp", SUM_HOST), ("device.cu", SUM_DEVICE)):
        (tmp_path / name).write_text(text)
    ob.extension(
        "stable_twice",
        sources=[tmp_path / "host.cpp", tmp_path / "device.cu"],
        extra_cflags=["-DTORCH_TARGET_VERSION=0x020d000000000000", "-DPy_LIMITED_API=0x030A0000"],
        extra_cuda_cflags=["-DPy_LIMITED_API=0x030A0000", "-DUSE_CUDA"],
        is_python_module=False,
    )
    x = torch.arange(5.0)
    assert torch.ops.stable_twice.total(x).item() == torch.ops.stable_twice.total(x.cuda()).item() == 10
