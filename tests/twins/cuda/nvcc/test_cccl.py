"""CUB, Thrust and libcu++ as they are installed, in programs that `opbridge twin nvcc` makes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.twins.cuda import cccl
from opbridge.twins.cuda import nvcc as twin_nvcc

Compiled = Callable[[str], subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(cccl.find() is None, reason="nvidia-cuda-cccl-cu12 is not installed")

BLOCK = """
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/std/array>

__global__ void run(const int* x, int* total, int* scan, int n) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
  } shared;
  const cuda::std::array<int, 2> mine{threadIdx.x < n ? x[threadIdx.x] : 0, 0};
  const int sum = Reduce(shared.reduce).Sum(mine[0]);
  if (threadIdx.x == 0) *total = sum;
  __syncthreads();
  int before;
  Scan(shared.scan).ExclusiveSum(mine[0], before);
  scan[threadIdx.x] = before;
}

int main() {
  int *x, *total, *scan;
  cudaMallocManaged(&x, 100 * sizeof(int));
  cudaMallocManaged(&total, sizeof(int));
  cudaMallocManaged(&scan, 128 * sizeof(int));
  for (int i = 0; i < 100; ++i) x[i] = i * i;
  run<<<1, 128>>>(x, total, scan, 100);
  cudaDeviceSynchronize();
  printf("%d %d %d\\n", *total, scan[99], scan[127]);
  cudaFree(x), cudaFree(total), cudaFree(scan);
}
"""

BARRIER = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cstdio>
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// What each thread brings another one takes; between the two it arrives, and waits.
__global__ void turned(const int* x, int* out, int rounds, bool waits) {
  __shared__ Barrier barrier;
  __shared__ int tile[64];
  if (threadIdx.x == 0) init(&barrier, 64);
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    tile[threadIdx.x] = x[round * 64 + threadIdx.x];
    auto token = barrier.arrive();
    if (waits) barrier.wait(std::move(token));
    out[round * 64 + threadIdx.x] = tile[63 - threadIdx.x];
    if (waits) barrier.arrive_and_wait();
  }
}

// One tile is filled while the other is used.
__global__ void staged(const int* x, int* out, int tiles) {
  __shared__ int tile[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int next = 0, now = 0; now < tiles; ++now) {
    for (; next < tiles && next < now + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[next % 2], x + next * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[now * 64 + threadIdx.x] = tile[now % 2][63 - threadIdx.x];
    pipe.consumer_release();
  }
}

__global__ void copied(const int* x, int* out) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) int tile[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(sizeof tile), barrier);
  barrier.arrive_and_wait();
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = tile[255 - i];
}

// Blocks count themselves, by an atomic for all of them or, wrongly, for one.
template <cuda::thread_scope kScope>
__global__ void counted(int* total) { cuda::atomic_ref<int, kScope>(*total).fetch_add(1, cuda::memory_order_relaxed); }

int main(int argc, char** argv) {
  int *x, *out;
  cudaMallocManaged(&x, 256 * sizeof(int));
  cudaMallocManaged(&out, 256 * sizeof(int));
  for (int i = 0; i < 256; ++i) x[i] = i;
  if (argc > 1 && argv[1][0] == 'b') counted<cuda::thread_scope_block><<<4, 32>>>(x);
  else counted<cuda::thread_scope_device><<<4, 32>>>(out);
  for (int kernel = 0; kernel < 3; ++kernel) {
    if (argc > 1) turned<<<1, 64>>>(x, out, 1, false), kernel = 2;
    else if (kernel == 0) turned<<<1, 64>>>(x, out, 4, true);
    else if (kernel == 1) staged<<<1, 64>>>(x, out, 4);
    else copied<<<1, 64>>>(x, out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < 256; ++i) wrong += out[i] != (kernel < 2 ? i / 64 * 64 + 63 - i % 64 : 255 - i);
    printf("%d ", wrong);
  }
  cudaFree(x), cudaFree(out);
}
"""

DEVICE = """
#include <cstdio>
#include <cub/device/device_scan.cuh>
#include <thrust/device_vector.h>

int main() {
  const int n = 3000;
  thrust::device_vector<int> in(n, 2), out(n);
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(nullptr, bytes, in.begin(), out.begin(), n);
  thrust::device_vector<char> scratch(bytes);
  cub::DeviceScan::InclusiveSum(thrust::raw_pointer_cast(scratch.data()), bytes, in.begin(), out.begin(), n);
  printf("%d %d\\n", int(out[0]), int(out[n - 1]));
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Compiled:
    nvcc = twin_nvcc.write(Cache().root / "cuda") / "bin" / "nvcc"

    def program(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "main.cu").write_text(text)
        made = subprocess.run([nvcc, "main.cu"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert made.returncode == 0, made.stderr
        return subprocess.run(["./a.out"], cwd=tmp_path, capture_output=True, text=True, timeout=100)

    return program


def test_a_block_reduces_and_scans(program: Compiled) -> None:
    squares = [i * i for i in range(100)]
    done = program(BLOCK)
    assert done.stdout == f"{sum(squares)} {sum(squares[:99])} {sum(squares)}\n"
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.matrix("test_barriers_and_pipelines_order_what_they_order names a kernel's line, too")
def test_what_the_kernel_itself_does_is_checked(program: Compiled) -> None:
    done = program(BLOCK.replace("threadIdx.x < n ? x[threadIdx.x] : 0", "x[threadIdx.x]"))
    assert "run: read of 4 bytes out of bounds" in done.stderr
    assert "main.cu:14, thread (100, 0, 0)" in done.stderr
    assert done.returncode == 86


@pytest.mark.matrix("test_barriers_and_pipelines_order_what_they_order finds a race, too")
def test_memory_of_one_that_another_takes_without_a_barrier_is_a_race(program: Compiled) -> None:
    """Of 256 threads: with 128 the parts of the two that are written and read do not lie over each other."""
    done = program(BLOCK.replace("128", "256").replace("  __syncthreads();\n", ""))
    assert "run: two threads race on shared memory" in done.stderr
    assert "main.cu:" in done.stderr
    assert done.returncode == 86


def test_barriers_and_pipelines_order_what_they_order(program: Compiled, tmp_path: Path) -> None:
    done = program(BARRIER)
    assert (done.stdout, done.stderr, done.returncode) == ("0 0 0 ", "", 0)
    unordered = subprocess.run(["./a.out", "too early"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert "turned: two threads race on shared memory" in unordered.stderr
    assert "atomic" not in unordered.stderr
    narrow = subprocess.run(["./a.out", "block"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert "two blocks race on global memory: an atomic of one block is not atomic for another block" in narrow.stderr
    assert "main.cu:21, thread" in unordered.stderr
    assert unordered.returncode == 86


@pytest.mark.matrix("the other tests of this file run CCCL's algorithms")
def test_blocks_that_wait_for_their_predecessors(program: Compiled) -> None:
    done = program(DEVICE)
    assert done.stdout == "2 6000\n"
    assert (done.stderr, done.returncode) == ("", 0)
