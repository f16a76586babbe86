"""Blocks that are counted may run without the others: for who asks what a launch costs, and not what it computes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.analysis.profile.counting import counted_run

from opbridge.analysis.profile.counter_files import Counted, read
from opbridge.analysis.profile.profiled_process import ALONE

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


HUGE = """
__global__ void halve(float* x) { x[blockIdx.x * (long)blockDim.x + threadIdx.x] *= 0.5f; }
extern "C" int halved() {
  const long blocks = 1 << 25, threads = 1024;
  float* x;
  if (cudaMalloc(&x, blocks * threads * sizeof(float)) != cudaSuccess) return 1;
  halve<<<blocks, threads>>>(x);
  cudaFree(x);
  return 0;
}
"""


def test_a_launch_may_be_larger_than_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALONE, "1")
    (kernel,) = _counted(tmp_path, HUGE, "halved")
    assert sum(array.bytes for array in kernel.arrays) == 1 << 37
    assert kernel.blocks == 1 << 25


PERIODIC = """
__global__ void corners(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x % 4 == 0) x[i] = 1;
}
extern "C" int marked_corners() {
  float* x;
  cudaMalloc(&x, 64 * 128 * sizeof(float));
  corners<<<64, 128>>>(x);
  cudaFree(x);
  return 0;
}
"""


@pytest.mark.parametrize("alone", ["", "1"])
def test_blocks_that_are_counted_follow_no_period_of_the_work(
    alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALONE, alone)
    (kernel,) = _counted(tmp_path, PERIODIC, "marked_corners")
    stores = sum(count.requests for count in kernel.counts if count.kind == "store")
    # 16 blocks of 4 warps; a quarter of all blocks stores.
    assert kernel.profiled_blocks == 16
    assert 2 * 4 <= stores <= 6 * 4


def _counted(folder: Path, text: str, function: str) -> list[Counted]:
    source, counts = folder / "kernels.cu", folder / "counts"
    source.write_text(text)
    counts.mkdir()
    counted_run(source, function, counts)
    return list(read(counts))


LONG = """
__global__ void reduced(const float* x, float* out, int rounds) {
  __shared__ float sums[256];
  float sum = 0;
  for (int i = 0; i < rounds; ++i) sum += x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  out[threadIdx.x] = sums[255 - threadIdx.x];
}
extern "C" int reduced_once() {
  const int rounds = 40000;
  float *x, *out;
  cudaMalloc(&x, rounds * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  reduced<<<1, 256>>>(x, out, rounds);
  cudaFree(x);
  cudaFree(out);
  return 0;
}
"""


def test_a_warp_that_waits_makes_room_for_what_others_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block does more than is kept of one, before its first barrier."""
    monkeypatch.setenv(ALONE, "1")
    (kernel,) = _counted(tmp_path, LONG, "reduced_once")
    assert (kernel.profiled_blocks, kernel.left_out) == (1, 0)
    loads = sum(count.requests for count in kernel.counts if (count.kind, count.space) == ("load", "global"))
    assert loads == 8 * 40000
