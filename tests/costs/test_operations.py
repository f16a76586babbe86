"""What is read in machine code: which instructions a GPU would have for whole numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.costs.counting import counted_run

from opbridge.costs.analysing import analysed
from opbridge.costs.chips import chip_named
from opbridge.costs.counted import read

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
