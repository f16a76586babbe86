"""Blocks that are counted may run without the others: for who asks what a launch costs, and not what it computes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.costs.counting import counted_run

from opbridge.costs.counted import read
from opbridge.costs.profiling import ALONE

SOURCE = """
__global__ void mark(const float* never_written, float* marks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  marks[i] = never_written[i] * 0 + 1;
}
extern "C" int marked_blocks() {
  const int n = 64 * 128;
  static float marks[n];
  float *x, *y;
  cudaMalloc(&x, sizeof marks);
  cudaMalloc(&y, sizeof marks);
  cudaMemset(y, 0, sizeof marks);
  mark<<<64, 128>>>(x, y);
  cudaMemcpy(marks, y, sizeof marks, cudaMemcpyDeviceToHost);
  int count = 0;
  for (int i = 0; i < n; i += 128) count += marks[i] == 1;
  cudaFree(x);
  cudaFree(y);
  return count == 16 ? 0 : 1 + count;
}
"""


def test_what_was_not_computed_before_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALONE, "1")
    source = tmp_path / "marks.cu"
    source.write_text(SOURCE)
    folder = tmp_path / "counts"
    folder.mkdir()
    assert "uninitialised" not in counted_run(source, "marked_blocks", folder)
    (kernel,) = read(folder)
    assert (kernel.profiled_blocks, kernel.blocks) == (16, 64)
