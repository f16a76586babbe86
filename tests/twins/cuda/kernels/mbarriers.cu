// Arrive-wait barriers and bulk copies in inline PTX, as code for Hopper has them.
#include "hopper.cuh"

__device__ __forceinline__ uint64_t arrive(uint64_t* barrier) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(in_shared(barrier)) : "memory");
  return state;
}
__device__ __forceinline__ bool is_past(uint64_t* barrier, uint64_t state) {
  uint32_t done;
  asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
               : "=r"(done)
               : "r"(in_shared(barrier)), "l"(state)
               : "memory");
  return done != 0;
}
__device__ __forceinline__ void copy_out(void* to, const void* from, uint32_t bytes) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(in_shared(from)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ bool is_elected() {
  uint32_t chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, %1;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(chosen) : "r"(~0u));
  return chosen != 0;
}

constexpr int kStages = 2, kMost = 512;

// One lane asks for tiles, two ahead; all threads double what has come, and one sends it back.
__global__ void tiles_in_stages(const int* from, int* to, int tile, int tiles) {
  __shared__ alignas(128) int stage[kStages][kMost];
  __shared__ alignas(128) int result[kMost];
  __shared__ uint64_t full[kStages], empty[kStages];
  const uint32_t bytes = tile * sizeof(int);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(full + s, 1);
      init(empty + s, blockDim.x);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const bool asks = threadIdx.x < 32 && is_elected();
  for (int t = 0; t < tiles + kStages; ++t) {
    if (asks && t < tiles) {
      const int s = t % kStages;
      if (t >= kStages) wait(empty + s, (t / kStages - 1) & 1);
      arrive_expecting(full + s, bytes);
      copy_in(stage[s], from + t * tile, bytes, full + s);
    }
    const int ready = t - kStages + 1;
    if (ready < 0 || ready >= tiles) continue;
    const int s = ready % kStages;
    wait(full + s, ready / kStages & 1);
    for (int i = threadIdx.x; i < tile; i += blockDim.x) result[i] = 2 * stage[s][i];
    arrive(empty + s);
    __syncthreads();
    if (threadIdx.x == 0) copy_out(to + ready * tile, result, bytes);
    __syncthreads();
  }
}
extern "C" int run_tiles_in_stages(const int* from, int* to, int tile, int tiles, int threads) {
  tiles_in_stages<<<1, threads>>>(from, to, tile, tiles);
  return cudaDeviceSynchronize();
}

// Each thread hands a value to its neighbour, again and again; those past `stay` leave after the first time.
__global__ void hand_round(int* out, int rounds, int stay) {
  __shared__ int values[2][256];
  __shared__ uint64_t barrier;
  const int n = blockDim.x, i = threadIdx.x;
  if (i == 0) init(&barrier, n);
  __syncthreads();
  values[0][i] = i;
  if (i >= stay) {
    asm volatile("{\n .reg .b64 s;\n mbarrier.arrive_drop.shared::cta.b64 s, [%0];\n}" ::"r"(in_shared(&barrier))
                 : "memory");
    return;
  }
  for (int round = 0; round < rounds; ++round) {
    const uint64_t state = arrive(&barrier);
    while (!is_past(&barrier, state)) {
    }
    const int next = round == 0 ? (i + 1) % n : (i + 1) % stay;
    values[(round + 1) & 1][i] = values[round & 1][next] + 1;
  }
  out[i] = values[rounds & 1][i];
}
extern "C" int run_hand_round(int* out, int threads, int rounds, int stay) {
  hand_round<<<1, threads>>>(out, rounds, stay);
  return cudaDeviceSynchronize();
}

// A block in no cluster is a cluster of one, whose barrier is the block's.
__global__ void cluster_of_one(int* out) {
  __shared__ int values[64];
  uint32_t rank, blocks;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  values[threadIdx.x] = threadIdx.x;
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[threadIdx.x] = values[63 - threadIdx.x] + 100 * rank + 1000 * blocks;
}
extern "C" int run_cluster_of_one(int* out) {
  cluster_of_one<<<1, 64>>>(out);
  return cudaDeviceSynchronize();
}

// What is wrong
// --------------------------------------------------------------------------------------------------------

__global__ void read_before_it_came(const int* from, int* out) {
  __shared__ alignas(16) int tile[32];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expecting(&full, sizeof tile);
    copy_in(tile, from, sizeof tile, &full);
  }
  out[threadIdx.x] = tile[threadIdx.x];
}
extern "C" int run_read_before_it_came(const int* from, int* out) {
  read_before_it_came<<<1, 32>>>(from, out);
  return cudaDeviceSynchronize();
}

__global__ void never_made(int* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) barrier = 0;
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(arrive(&barrier));
}
extern "C" int run_never_made(int* out) {
  never_made<<<1, 32>>>(out);
  return cudaDeviceSynchronize();
}

__global__ void copy_of_eight_bytes(const int* from) {
  __shared__ alignas(16) int tile[32];
  __shared__ uint64_t full;
  init(&full, 1);
  copy_in(tile, from, 8, &full);
}
extern "C" int run_copy_of_eight_bytes(const int* from) {
  copy_of_eight_bytes<<<1, 1>>>(from);
  return cudaDeviceSynchronize();
}

__global__ void bytes_never_come(const int* from) {
  __shared__ alignas(16) int tile[16];
  __shared__ uint64_t full;
  init(&full, 1);
  arrive_expecting(&full, sizeof tile);
  copy_in(tile, from, sizeof tile / 2, &full);
  wait(&full, 0);
}
extern "C" int run_bytes_never_come() {
  int* from;
  cudaMalloc(&from, 64);
  cudaMemset(from, 0, 64);
  bytes_never_come<<<1, 1>>>(from);
  return cudaDeviceSynchronize();
}

// A flag in global memory: what stands behind it is handed over where the store or the reduction is a release.
#define FLAG(name, ...)                                                                                          \
  __global__ void name(int* data, int* flag, int* out) {                                                         \
    if (blockIdx.x == 0) {                                                                                       \
      data[0] = 42;                                                                                              \
      asm volatile(__VA_ARGS__ " [%0], 1;" ::"l"(flag) : "memory");                                              \
    } else {                                                                                                     \
      int seen = 0;                                                                                              \
      while (seen == 0) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); \
      out[0] = data[0];                                                                                          \
    }                                                                                                            \
  }                                                                                                              \
  extern "C" int run_##name(int* data, int* flag, int* out) {                                                    \
    name<<<2, 1>>>(data, flag, out);                                                                             \
    return cudaDeviceSynchronize();                                                                              \
  }
FLAG(store_release, "st.release.gpu.global.s32")
FLAG(red_release, "red.release.gpu.global.add.s32")
FLAG(fence_and_store, "fence.acq_rel.gpu;\n st.relaxed.gpu.global.s32")
FLAG(fence_and_red, "membar.gl;\n red.global.add.s32")
FLAG(store_relaxed, "st.relaxed.gpu.global.s32")
FLAG(store_volatile, "st.volatile.global.s32")
FLAG(red_relaxed, "red.relaxed.gpu.global.add.s32")
FLAG(red_plain, "red.global.add.s32")
