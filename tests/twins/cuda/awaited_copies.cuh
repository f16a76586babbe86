// Asynchronous copies to shared memory that are waited for as CUDA asks: none may be reported.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace awaited_copies {

namespace cg = cooperative_groups;

constexpr int kThreads = 64, kStages = 3, kTiles = 8;

// Several tiles are under way while one is used; behind the last one, empty groups keep the count right.
__global__ void stages(const int* x, int* y) {
  __shared__ int tile[kStages][kThreads];
  const int t = threadIdx.x;
  for (int i = 0; i < kStages - 1; ++i) {
    __pipeline_memcpy_async(&tile[i][t], &x[i * kThreads + t], sizeof(int));
    __pipeline_commit();
  }
  for (int i = 0; i < kTiles; ++i) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    y[i * kThreads + t] = tile[i % kStages][kThreads - 1 - t];
    const int next = i + kStages - 1;
    if (next < kTiles) __pipeline_memcpy_async(&tile[next % kStages][t], &x[next * kThreads + t], sizeof(int));
    __pipeline_commit();
  }
}

// A thread may read what it has copied itself without a barrier; the last eight bytes are zeros.
__global__ void own_part(const int* x, int* y) {
  __shared__ int4 tile[kThreads / 4];
  const int t = threadIdx.x;
  if (t >= kThreads / 4) return;
  __pipeline_memcpy_async(&tile[t], x + 4 * t, sizeof(int4), sizeof(int2));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = tile[t].x + tile[t].w;
}

// The same memory for one tile after the other, by inline PTX; what was not committed is waited for as well.
__global__ void one_buffer(const int* x, int* y) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[t]));
  for (int i = 0; i < kTiles; ++i) {
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + i * kThreads + t));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    y[i * kThreads + t] = tile[(t + 1) % kThreads];
  }
}

// Of odd sizes, by a block and by a tile of threads.
__global__ void by_groups(const char* x, int* y) {
  __shared__ alignas(16) char words[40], bytes[2][37];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  cg::memcpy_async(block, words, x, sizeof words);
  cg::wait(block);
  if (threadIdx.x < 40) y[threadIdx.x] = words[39 - threadIdx.x];
  cg::memcpy_async(warp, bytes[warp.meta_group_rank()], x + 1, 37);
  cg::wait(warp);
  y[threadIdx.x] += bytes[warp.meta_group_rank()][(threadIdx.x + 5) % 32];
}

// Written with care before and after a copy to the same place.
__global__ void filled_before(const int* x, int* y) {
  __shared__ int tile[2 * kThreads];
  const int t = threadIdx.x;
  tile[t] = tile[kThreads + t] = 0;
  if (t % 2 == 0) __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const int sum = tile[t ^ 1] + tile[kThreads + t];
  __syncthreads();
  tile[t] = sum;
  __syncthreads();
  y[t] = tile[kThreads - 1 - t];
}

// `x` and `y` hold kTiles * kThreads elements.
inline void run(const int* x, int* y) {
  stages<<<1, kThreads>>>(x, y);
  own_part<<<1, kThreads>>>(x, y);
  one_buffer<<<1, kThreads>>>(x, y);
  by_groups<<<1, kThreads>>>(reinterpret_cast<const char*>(x), y);
  filled_before<<<1, kThreads>>>(x, y);
}

}  // namespace awaited_copies
