// What the threads of a block do together.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_awbarrier_primitives.h>

#include "shapes.cuh"

namespace cg = cooperative_groups;

extern "C" int allocate(void** memory, size_t bytes) {
  const cudaError_t error = cudaMallocManaged(memory, bytes);
  return error != cudaSuccess ? error : cudaMemset(*memory, 0, bytes);
}
extern "C" int release(void* memory) { return cudaFree(memory); }

// Shared memory
// --------------------------------------------------------------------------------------------------------

template <int kTile>
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile + 1], tile_b[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    const bool inside_a = row < n && k + threadIdx.x < n, inside_b = column < n && k + threadIdx.y < n;
    tile_a[threadIdx.y][threadIdx.x] = inside_a ? a[row * n + k + threadIdx.x] : 0;
    tile_b[threadIdx.y][threadIdx.x] = inside_b ? b[(k + threadIdx.y) * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

extern "C" int run_multiply(const float* a, const float* b, float* c, int n) {
  const size_t bytes = sizeof(float) * n * n;
  float *device_a, *device_b, *device_c;
  cudaMalloc(&device_a, bytes);
  cudaMalloc(&device_b, bytes);
  cudaMalloc(&device_c, bytes);
  cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b, bytes, cudaMemcpyHostToDevice);
  const dim3 grid((n + 15) / 16, (n + 15) / 16);
  multiply<16><<<grid, dim3(16, 16)>>>(device_a, device_b, device_c, n);
  cudaMemcpy(c, device_c, bytes, cudaMemcpyDeviceToHost);
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return cudaGetLastError();
}

template <class T>
struct Box {
  T value;
  int owner;
  __device__ void set(T v) {
    value = v;
    owner = threadIdx.x;
  }
};

__shared__ int outside_of_functions[kWidth];

template <class T>
__global__ void kinds_of_shared(T* out) {
  static __shared__ Box<T> boxes[kWidth];
  __shared__ volatile int count;
  __shared__ union {
    float as_float;
    int as_int;
  } both;
  extern __shared__ __align__(16) unsigned char raw[];
  T* const dynamic = reinterpret_cast<T*>(raw);
  const int t = threadIdx.x;
  if (t == 0) {
    count = 0;
    both.as_float = 1.0f;
  }
  boxes[t].set(T(t));
  dynamic[t] = T(t);
  outside_of_functions[t] = t;
  __syncthreads();
  if (t == 5) count = both.as_int == 0x3f800000 ? 1000 : 0;
  __syncthreads();
  const int other = (t + 1) % kWidth;
  out[t] = boxes[other].value + dynamic[other] + T(boxes[other].owner) + T(count) + T(outside_of_functions[other]);
}

extern "C" int run_kinds_of_shared(int* out) {
  kinds_of_shared<<<1, kWidth, kWidth * sizeof(int)>>>(out);
  return cudaGetLastError();
}

__global__ void reverse(int* x) { x[threadIdx.x] = reversed_in_block(x[threadIdx.x]); }

extern "C" int run_reverse(int* x, int n) {
  reverse<<<1, n, n * sizeof(int)>>>(x);
  return cudaGetLastError();
}

// Much dynamic shared memory has to be asked for.
__global__ void last_byte(int* out, int bytes) {
  extern __shared__ char memory[];
  memory[bytes - 1] = 3;
  __syncthreads();
  *out = memory[bytes - 1];
}

extern "C" int run_last_byte(int* out, int bytes) {
  if (bytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(last_byte, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return cudaGetLastError();
  }
  last_byte<<<1, 1, bytes>>>(out, bytes);
  return cudaGetLastError();
}

// Barriers
// -------------------------------------------------------------------------------------------------------------

__global__ void votes(int* out, int n) {
  const int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0);
  out[n + t] = __syncthreads_or(t == n - 1) * 10 + __syncthreads_or(t > n);
  out[2 * n + t] = __syncthreads_and(t < n) * 10 + __syncthreads_and(t > 0);
}

extern "C" int run_votes(int* out, int n) {
  votes<<<1, n>>>(out, n);
  return cudaGetLastError();
}

// Warp 0 hands rounds of values to warp 1, which says when it has read them; a third one leaves after the first round.
__global__ void handed_over(int* out, int rounds) {
  __shared__ int values[32];
  __shared__ __mbarrier_t filled, emptied;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    __mbarrier_init(&filled, 96);
    __mbarrier_init(&emptied, 32);
  }
  __syncthreads();
  if (warp == 2) {
    __mbarrier_arrive_and_drop(&filled);
    return;
  }
  for (int round = 0; round < rounds; ++round) {
    if (warp == 0) {
      while (round > 0 && !__mbarrier_try_wait_parity(&emptied, (round - 1) % 2, 1000)) {
      }
      values[lane] = 100 * round + lane;
      __mbarrier_arrive(&filled);
    } else {
      const __mbarrier_token_t token = __mbarrier_arrive(&filled);
      while (!__mbarrier_test_wait(&filled, token)) {
      }
      out[round * 32 + lane] = values[31 - lane];
      __mbarrier_arrive(&emptied);
    }
  }
}

extern "C" int run_handed_over(int* out, int rounds) {
  handed_over<<<1, 96>>>(out, rounds);
  return cudaGetLastError();
}

// A barrier in a loop and in a function, reached by threads that did different things before.
__device__ int shifted(int* row, int value, int by) {
  row[threadIdx.x] = value;
  __syncthreads();
  const int result = row[(threadIdx.x + by) % blockDim.x];
  __syncthreads();
  return result;
}

__global__ void rotate(int* x, int rounds) {
  __shared__ int row[1024];
  int value = threadIdx.x % 2 == 0 ? x[threadIdx.x] : -x[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = shifted(row, value, i);
  x[threadIdx.x] = value;
}

extern "C" int run_rotate(int* x, int n, int rounds) {
  rotate<<<1, n>>>(x, rounds);
  return cudaGetLastError();
}

// Half of the threads never come to the barrier: a GPU does not wait for those that have left.
__global__ void leave_early(int* x) {
  if (threadIdx.x >= blockDim.x / 2) return;
  x[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) x[blockDim.x - 1] = x[blockDim.x / 2 - 1];
}

extern "C" int run_leave_early(int* x, int n) {
  leave_early<<<1, n>>>(x);
  return cudaGetLastError();
}

// A lock, whose owner waits at nothing; and a flag that another thread of the block sets later.
__device__ int lock;
__global__ void take_turns(int* counter, int* flag) {
  if (threadIdx.x == 0) {
    while (atomicCAS(flag, 1, 2) != 1) {
    }
  }
  while (atomicExch(&lock, 1) == 1) __nanosleep(20);
  *counter += 1;
  __threadfence();
  atomicExch(&lock, 0);
  if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
}

extern "C" int run_take_turns(int* counter, int* flag, int blocks, int threads) {
  take_turns<<<blocks, threads>>>(counter, flag);
  return cudaGetLastError();
}

// The last block to finish adds up what all have made.
__device__ unsigned finished;
__global__ void sum_in_last_block(const int* x, int* partial, int* total) {
  __shared__ bool last;
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  const int sum = cg::reduce(tile, x[global_index()], cg::plus<int>());
  if (tile.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], sum);
  __threadfence();
  block.sync();
  if (threadIdx.x == 0) last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  for (unsigned i = 0; i < gridDim.x; ++i) *total += partial[i];
}

extern "C" int run_sum_in_last_block(const int* x, int* partial, int* total, int blocks) {
  sum_in_last_block<<<blocks, 64>>>(x, partial, total);
  return cudaGetLastError();
}

// Cooperative groups
// ---------------------------------------------------------------------------------------------------

__device__ int sum_of(const cg::thread_group& group, int* memory, int value) {
  const int lane = group.thread_rank();
  for (int i = group.size() / 2; i > 0; i /= 2) {
    memory[lane] = value;
    group.sync();
    if (lane < i) value += memory[lane + i];
    group.sync();
  }
  return value;
}

__global__ void groups(int* out) {
  __shared__ int memory[64];
  const cg::thread_block block = cg::this_thread_block();
  const int t = block.thread_rank();
  auto tile = cg::tiled_partition<8>(cg::tiled_partition<32>(block));
  out[t] = tile.shfl_down(t, 3) + 1000 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
  out[64 + t] = tile.ballot(t % 2) + 1000 * tile.any(t == 9) + 10000 * tile.all(t < 9);
  out[128 + t] = cg::inclusive_scan(tile, t) + 1000 * cg::exclusive_scan(tile, 1);
  const double half = tile.shfl_xor(t * 0.5, 1);
  struct Wide {
    int a, b, c;
  };
  const Wide wide = tile.shfl(Wide{t, -t, 2 * t}, 7);
  out[192 + t] = static_cast<int>(2 * half) + 1000 * (wide.a + wide.b + wide.c);
  if (t % 5 == 1) {
    const auto some = cg::coalesced_threads();
    out[256 + t] = some.thread_rank() + 100 * some.size() + 1000 * cg::reduce(some, t, cg::greater<int>());
  }
  const auto parts = cg::binary_partition(tile, t % 4 == 0);
  out[320 + t] = parts.size() + 10 * parts.thread_rank();
  out[384 + t] = sum_of(block, memory, t);
  block.sync();
  out[448 + t] = sum_of(cg::tiled_partition(block, 16), memory + t / 16 * 16, t);
  block.sync();
  cg::memcpy_async(block, memory, out, sizeof memory);
  cg::wait(block);
  out[512 + t] = memory[63 - t];
}

extern "C" int run_groups(int* out) {
  groups<<<1, 64>>>(out);
  return cudaGetLastError();
}

// Halves of a block go their own ways and meet at their own barriers.
__global__ void groups_of_warps(int* out) {
  __shared__ cg::block_tile_memory<128> place;
  __shared__ int handed[128];
  const auto block = cg::this_thread_block(place);
  const auto tile = cg::tiled_partition<64>(block);
  const int t = block.thread_rank(), rank = tile.thread_rank();
  out[t] = rank + 1000 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
  out[128 + t] = cg::reduce(tile, t, cg::plus<int>()) + 10000 * tile.any(t == 70) + 100000 * tile.all(t < 64);
  int value = t;
  for (int round = 0; round < (tile.meta_group_rank() == 0 ? 3 : 7); ++round) {
    handed[t] = value;
    tile.sync();
    value = handed[t - rank + (rank + 33) % 64];
    tile.sync();
  }
  out[256 + t] = value;
}

extern "C" int run_groups_of_warps(int* out) {
  groups_of_warps<<<1, 128>>>(out);
  return cudaGetLastError();
}

__global__ void whole_grid(int* x, int n, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int round = 0; round < rounds; ++round) {
    const int next = x[(i + blockDim.x) % n];
    grid.sync();
    x[i] = next + 1;
    grid.sync();
  }
}

extern "C" int run_whole_grid(int* x, int blocks, int threads, int rounds) {
  int n = blocks * threads;
  void* arguments[] = {&x, &n, &rounds};
  const cudaError_t error = cudaLaunchCooperativeKernel((void*)whole_grid, blocks, threads, arguments, 0, 0);
  return error != cudaSuccess ? error : cudaDeviceSynchronize();
}
