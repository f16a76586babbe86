// Pipelines as code for Hopper has them, each with mistakes that a number chooses; 0 is right.
#include "hopper.cuh"

__device__ __forceinline__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(in_shared(barrier)) : "memory");
}
__device__ __forceinline__ void copy_out(void* to, const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(in_shared(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_all() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ __forceinline__ void meet(uint32_t number, uint32_t count) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory");
}
__device__ __forceinline__ void come(uint32_t number, uint32_t count) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(count) : "memory");
}

constexpr int kTile = 64, kTiles = 6, kStages = 2;

// Results leave by copies in bulk.
__global__ void stored(const int* from, int* to, int mistake) {
  __shared__ alignas(128) int result[kStages][kTile];
  const int i = threadIdx.x;
  for (int t = 0; t < kTiles; ++t) {
    int* const tile = result[mistake == 2 ? 0 : t % kStages];
    if (i == 0 && mistake != 3) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kStages - 1) : "memory");
    __syncthreads();
    tile[i] = 2 * from[t * kTile + i];
    if (mistake != 1) fence();
    __syncthreads();
    if (i != 0) continue;
    copy_out(to + t * kTile, tile, sizeof *result);
    if (mistake != 4) commit();
  }
  if (i == 0 && mistake != 5) wait_for_all();
}

// One warp fetches tiles, and others use them; a stage is full, and then empty.
__global__ void fetched(const int* from, int* to, int mistake) {
  __shared__ alignas(128) int stage[kStages][kTile];
  __shared__ uint64_t full[kStages], empty[kStages];
  const int i = threadIdx.x - 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(full + s, 1);
      init(empty + s, mistake == 6 ? kTile / 2 : kTile);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (mistake != 5) __syncthreads();
  if (threadIdx.x == 0) {
    for (int t = 0; t < kTiles; ++t) {
      const int s = t % kStages;
      if (t >= kStages && mistake != 1) wait(empty + s, (t / kStages - 1 + (mistake == 2)) & 1);
      arrive_expecting(full + s, mistake == 7 ? 2 * sizeof *stage : sizeof *stage);
      copy_in(stage[s], from + t * kTile, sizeof *stage, full + s);
    }
  } else if (i >= 0) {
    for (int t = 0; t < kTiles; ++t) {
      const int s = t % kStages;
      if (mistake != 3) wait(full + s, (t / kStages + (mistake == 4)) & 1);
      to[t * kTile + i] = stage[s][kTile - 1 - i];
      arrive(empty + s);
    }
  }
}

// Two warps fill what two others use, by barriers for the four.
__global__ void handed_over(const int* from, int* to, int mistake) {
  __shared__ int stage[kStages][kTile];
  constexpr int kFull = 1, kEmpty = 1 + kStages, kAll = 2 * kTile;
  const int i = threadIdx.x % kTile;
  const bool fills = threadIdx.x < kTile;
  for (int t = 0; t < kTiles; ++t) {
    const int s = t % kStages;
    if (fills) {
      if (t >= kStages && mistake != 1) meet(kEmpty + s, kAll);
      stage[s][i] = from[t * kTile + i];
      if (mistake != 2) come(kFull + s, mistake == 3 ? kTile : kAll);
    } else {
      if (mistake != 2) meet(mistake == 4 ? kFull : kFull + s, kAll);
      to[t * kTile + i] = stage[s][kTile - 1 - i];
      if (t + kStages < kTiles && mistake != 1) come(kEmpty + s, kAll);
    }
  }
}

extern "C" int run(const int* from, int* to, int kernel, int mistake) {
  if (kernel == 0) stored<<<1, kTile>>>(from, to, mistake);
  if (kernel == 1) fetched<<<1, 32 + kTile>>>(from, to, mistake);
  if (kernel == 2) handed_over<<<2, 2 * kTile>>>(from, to, mistake);
  return cudaDeviceSynchronize();
}
