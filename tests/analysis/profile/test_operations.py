"""What is read in machine code: which instructions a GPU would have for whole numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.profile.counting import counted_run

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.counter_files import read
from opbridge.analysis.profile.kernel_costs import analysed

SOURCE = """
__global__ void remainders(const int* x, int* out, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i] BY by;
}
extern "C" int divided() {
  int *x, *out;
  cudaMalloc(&x, 1024 * sizeof(int));
  cudaMalloc(&out, 1024 * sizeof(int));
  cudaMemset(x, 0, 1024 * sizeof(int));
  remainders<<<4, 256>>>(x, out, 7);
  cudaFree(x);
  cudaFree(out);
  return 0;
}
"""
WARPS = 4 * 256 // 32


def integers(folder: Path, operator: str) -> float:
    folder.mkdir()
    source = folder / "kernel.cu"
    source.write_text(SOURCE.replace("BY", operator))
    counted_run(source, "divided", folder)
    (kernel,) = analysed(read(folder), chip_named("a100"))
    return kernel.integers / WARPS


def test_a_gpu_has_no_instruction_to_divide_whole_numbers(tmp_path: Path) -> None:
    product, remainder = integers(tmp_path / "product", "*"), integers(tmp_path / "remainder", "%")
    assert 1 <= product <= 10  # an index, a product, addresses
    assert remainder - product == pytest.approx(19, abs=2)


SHORT = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <opbridge/half.h>
template <class T>
__global__ void twice(const T* x, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<T>(static_cast<float>(x[i]) * 2.f);
}
extern "C" int doubled() {
  void *x, *out;
  cudaMalloc(&x, 1024 * sizeof(TYPE));
  cudaMalloc(&out, 1024 * sizeof(TYPE));
  cudaMemset(x, 0, 1024 * sizeof(TYPE));
  twice<<<4, 256>>>(static_cast<const TYPE*>(x), static_cast<TYPE*>(out));
  cudaFree(x);
  cudaFree(out);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("kind", "conversions"), [("ob::half", 2), ("__half", 2), ("ob::bfloat16", 1), ("__nv_bfloat16", 1)]
)
def test_short_numbers_are_converted_by_an_instruction(tmp_path: Path, kind: str, conversions: int) -> None:
    """This machine takes a dozen for whole numbers; a bfloat16 is a float but for a shift."""
    source = tmp_path / "kernel.cu"
    source.write_text(SHORT.replace("TYPE", kind))
    counted_run(source, "doubled", tmp_path)
    (kernel,) = analysed(read(tmp_path), chip_named("a100"))
    assert kernel.operations["conversion"] == conversions * 1024
    assert kernel.integers / WARPS <= 11
