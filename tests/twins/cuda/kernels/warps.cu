// What the lanes of a warp do together, and atomics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <device_atomic_functions.h>
#include <sm_30_intrinsics.h>

constexpr unsigned kAll = 0xffffffffu;

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

// Every type of value, by every way to move it.
template <class T>
__global__ void shuffles(const T* in, T* out, int width) {
  const int lane = threadIdx.x;
  const T value = in[lane];
  out[lane] = __shfl_sync(kAll, value, 5, width);
  out[32 + lane] = __shfl_up_sync(kAll, value, 3, width);
  out[64 + lane] = __shfl_down_sync(kAll, value, 3, width);
  out[96 + lane] = __shfl_xor_sync(kAll, value, 6, width);
  out[128 + lane] = __shfl_sync(kAll, value, lane + 1, width);
}

#define SHUFFLES(name, T)                                          \
  extern "C" int shuffles_##name(const T* in, T* out, int width) { \
    shuffles<T><<<1, 32>>>(in, out, width);                        \
    return cudaGetLastError();                                     \
  }
SHUFFLES(int32, int)
SHUFFLES(uint32, unsigned)
SHUFFLES(int64, long long)
SHUFFLES(uint64, unsigned long)
SHUFFLES(float32, float)
SHUFFLES(float64, double)
SHUFFLES(float16, __half)
SHUFFLES(bfloat16, __nv_bfloat16)
SHUFFLES(pair, __half2)

// Some lanes only, and each part of the warp by itself.
__global__ void parts_of_a_warp(int* out) {
  const int lane = threadIdx.x % 32;
  const unsigned mine = lane < 12 ? 0xfffu : ~0xfffu;
  out[threadIdx.x] = __shfl_down_sync(mine, lane, 1);
  out[64 + threadIdx.x] = __ballot_sync(mine, lane % 2);
  int last = -1;
  if (lane % 2 == 1) last = __shfl_sync(0xaaaaaaaau, lane, 31);
  out[128 + threadIdx.x] = last;
}

__global__ void votes(int* out) {
  const int lane = threadIdx.x;
  int all_equal;
  out[lane] = __any_sync(kAll, lane == 3) + 10 * __any_sync(kAll, lane > 31) + 100 * __all_sync(kAll, lane < 32) +
              1000 * __all_sync(kAll, lane < 31);
  out[32 + lane] = __ballot_sync(kAll, lane % 3 == 0);
  out[64 + lane] = __match_any_sync(kAll, lane / 5);
  out[96 + lane] = __match_all_sync(kAll, 1.5, &all_equal);
  out[128 + lane] = __match_all_sync(kAll, lane / 31, &all_equal) + 10 * all_equal;
  out[160 + lane] = __reduce_add_sync(kAll, lane) + 10000 * __reduce_max_sync(kAll, lane - 16);
  out[192 + lane] = __reduce_min_sync(kAll, lane - 16);
  out[224 + lane] = __reduce_and_sync(kAll, lane | 64u) + __reduce_or_sync(kAll, lane + 0u) * 1000 +
                    __reduce_xor_sync(kAll, lane < 3 ? 1u << lane : 0u) * 100000;
}

// Divergent lanes that ask who is with them.
__global__ void active(int* out) {
  const int lane = threadIdx.x;
  out[lane] = __activemask();
  if (lane % 4 == 0) {
    out[32 + lane] = __activemask();
  } else if (lane > 20) {
    out[32 + lane] = __activemask();
  }
  // The lanes that come here add one for all of them.
  if (lane & 2) {
    const unsigned mask = __activemask();
    const int leader = __ffs(mask) - 1;
    int old = 0;
    if (lane == leader) old = atomicAdd(&out[64], __popc(mask));
    old = __shfl_sync(mask, old, leader);
    out[65 + lane] = old + __popc(mask & ((1u << lane) - 1));
  }
}

extern "C" int run_parts(int* out) {
  parts_of_a_warp<<<1, 64>>>(out);
  return cudaGetLastError();
}
extern "C" int run_votes(int* out) {
  votes<<<1, 32>>>(out);
  return cudaGetLastError();
}
// After two thirds of the block have left: by the sum, the ballot and the barrier of the others.
__global__ void those_left(int* out) {
  __shared__ int seen[96];
  if (threadIdx.x % 32 >= 11) return;
  seen[threadIdx.x] = static_cast<int>(threadIdx.x);
  const int all = __syncthreads_count(1);
  const unsigned lanes = __ballot_sync(0xffffffff, true);
  const int sum = __reduce_add_sync(0xffffffff, 1) + __shfl_sync(0xffffffff, seen[threadIdx.x], 10);
  out[threadIdx.x] = all * 1000000 + static_cast<int>(lanes) * 100 + sum + seen[(threadIdx.x + 32) % 96];
}
extern "C" int run_those_left(int* out) {
  those_left<<<1, 96>>>(out);
  return cudaGetLastError();
}
extern "C" int run_active(int* out) {
  active<<<1, 32>>>(out);
  return cudaGetLastError();
}

// A warp's sum, block by block.
__global__ void sum(const float* x, float* total, int n) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  for (int step = warpSize / 2; step > 0; step /= 2) mine += __shfl_xor_sync(kAll, mine, step);
  __shared__ float warps[32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  mine = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(kAll, mine, step);
  if (threadIdx.x == 0) atomicAdd(total, mine);
}

extern "C" int run_sum(const float* x, float* total, int n, int blocks) {
  sum<<<blocks, 256>>>(x, total, n);
  return cudaGetLastError();
}

// Atomics
// --------------------------------------------------------------------------------------------------------------

// Many blocks on few elements, in memory of the grid and of the block; and the sum of what they gave back.
template <class T>
__global__ void add_up(T* total, T* by_way_of_block, double* olds) {
  __shared__ T block[2];
  if (threadIdx.x < 2) block[threadIdx.x] = T(0);
  __syncthreads();
  atomicAdd(&block[threadIdx.x % 2], T(1));
  const T old = atomicAdd(&total[threadIdx.x % 2], T(1));
  atomicAdd(olds, static_cast<double>(old));
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd(&by_way_of_block[threadIdx.x], block[threadIdx.x]);
}

#define ADD_UP(name, T)                                                                  \
  extern "C" int add_up_##name(T* total, T* by_way_of_block, double* olds, int blocks) { \
    add_up<T><<<blocks, 64>>>(total, by_way_of_block, olds);                             \
    return cudaGetLastError();                                                           \
  }
ADD_UP(int32, int)
ADD_UP(uint32, unsigned)
ADD_UP(uint64, unsigned long long)
ADD_UP(float32, float)
ADD_UP(float64, double)
ADD_UP(float16, __half)

__global__ void add_pairs(__half2* halves, __nv_bfloat162* bfloats, __nv_bfloat16* single) {
  atomicAdd(halves, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(bfloats, __floats2bfloat162_rn(1.0f, 0.5f));
  atomicAdd(single, __float2bfloat16(2.0f));
}

extern "C" int run_add_pairs(__half2* halves, __nv_bfloat162* bfloats, __nv_bfloat16* single) {
  add_pairs<<<4, 16>>>(halves, bfloats, single);
  return cudaGetLastError();
}

template <class T>
__global__ void others(T* x, T* olds, T value) {
  olds[0] = atomicSub(&x[0], value);
  olds[1] = atomicMin(&x[1], value);
  olds[2] = atomicMax(&x[2], value);
  olds[3] = atomicAnd(&x[3], value);
  olds[4] = atomicOr(&x[4], value);
  olds[5] = atomicXor(&x[5], value);
  olds[6] = atomicExch(&x[6], value);
  olds[7] = atomicCAS(&x[7], x[8], value);
  olds[8] = atomicCAS(&x[8], T(-1), value);
}

__global__ void wrap_around(unsigned* x, unsigned* olds) {
  for (int i = 0; i < 4; ++i) {
    olds[i] = atomicInc(&x[0], 2);
    olds[4 + i] = atomicDec(&x[1], 2);
  }
  olds[8] = atomicDec_block(&x[2], 5);
  olds[9] = atomicAdd_system(&x[3], 5);
}

extern "C" int run_others_int32(int* x, int* olds, int value) {
  others<<<1, 1>>>(x, olds, value);
  return cudaGetLastError();
}
extern "C" int run_others_uint32(unsigned* x, unsigned* olds, unsigned value) {
  others<<<1, 1>>>(x, olds, value);
  return cudaGetLastError();
}
extern "C" int run_wrap_around(unsigned* x, unsigned* olds) {
  wrap_around<<<1, 1>>>(x, olds);
  return cudaGetLastError();
}
