"""How long blocks take by themselves, by what their longest warp waits for."""

from __future__ import annotations

import pytest
from tests.analysis.profile.counting import counted_run

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.counter_files import read
from opbridge.analysis.profile.kernel_costs import analysed
from opbridge.analysis.profile.profile_contents import KernelCost

SOURCE = """
__global__ void by_one(const float* x, float* out, int n) {
  float total = 0;
  if (threadIdx.x == 0)
    for (int i = 0; i < n; ++i) total += x[i];
  out[threadIdx.x] = total;
}
__global__ void by_all(const float* x, float* out, int n) {
  float total = 0;
  for (int i = threadIdx.x; i < n; i += 256) total += x[i];
  out[threadIdx.x] = total;
}
__global__ void meeting(float* out, int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
  out[threadIdx.x] = 0;
}
__device__ void add_twice(const float* x, float* out, int n) {
  float total = 0;
  for (int round = 0; round < 2; ++round)
    for (int i = threadIdx.x; i < n; i += 256) total += x[i];
  out[threadIdx.x] = total;
}
__global__ void twice_in_cache(const float* x, float* out, int n) { add_twice(x, out, n / 16); }
__global__ void twice(const float* x, float* out, int n) { add_twice(x, out, n); }
extern "C" int run() {
  const int n = 1 << 16;
  float *x, *out;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  by_one<<<1, 256>>>(x, out, n);
  by_all<<<1, 256>>>(x, out, n);
  twice<<<1, 256>>>(x, out, n);
  twice_in_cache<<<1, 256>>>(x, out, n);
  meeting<<<1, 256>>>(out, 100);
  cudaFree(x);
  cudaFree(out);
  return 0;
}
"""
CHIP = chip_named("a100")
VALUES = 1 << 16


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelCost]:
    folder = tmp_path_factory.mktemp("waiting")
    source = folder / "kernel.cu"
    source.write_text(SOURCE)
    counted_run(source, "run", folder)
    return {kernel.name: kernel for kernel in analysed(read(folder), CHIP)}


def test_one_thread_that_adds_alone_is_what_all_wait_for(kernels: dict[str, KernelCost]) -> None:
    by_one, by_all = kernels["by_one"], kernels["by_all"]
    assert by_one.bounds[0].name == "waiting"
    # A sector has eight values, and none is asked for before the one in front of it is there.
    assert by_one.alone > VALUES / 8 * 404e-9 * CHIP.hertz
    assert by_one.alone > 10 * by_all.alone


def test_the_longest_warp_counts_and_not_their_mean(kernels: dict[str, KernelCost]) -> None:
    (load,) = [line for line in kernels["by_one"].lines if line.kind == "load"]
    (shared,) = [line for line in kernels["by_all"].lines if line.kind == "load"]
    assert (load.requests, load.longest) == (VALUES, VALUES)
    assert (shared.requests, shared.longest) == (VALUES // 32, VALUES // 256)


def test_barriers_take_time(kernels: dict[str, KernelCost]) -> None:
    assert kernels["meeting"].alone >= 100 * 30


def test_what_a_loop_adds_is_counted_though_it_is_entered_in_its_middle(kernels: dict[str, KernelCost]) -> None:
    assert kernels["by_one"].operations["float"] == pytest.approx(VALUES, rel=0.01)
    assert kernels["by_all"].operations["float"] == pytest.approx(VALUES, rel=0.01)


def test_the_first_cache_keeps_what_it_has_room_for(kernels: dict[str, KernelCost]) -> None:
    for name, values, fetched in (("twice", VALUES, 2), ("twice_in_cache", VALUES // 16, 1)):
        (load,) = [line for line in kernels[name].lines if line.kind == "load"]
        assert (load.requests, load.fresh) == (2 * values // 32, values // 8)
        assert load.missed == fetched * values // 8
    # The last cache has room for both.
    assert kernels["twice"].bytes_read == VALUES * 4
