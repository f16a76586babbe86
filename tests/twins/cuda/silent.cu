// Kernels that are right, each for a reason that a hasty check would miss: none of them may be reported.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "awaited_copies.cuh"
#include "local_arrays.cuh"

namespace {

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

__constant__ int weights[3] = {1, 2, 1};
__device__ unsigned blocks_done;
__device__ int lock;

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) {
    cudaMalloc(&data_, count * sizeof(T));
    cudaMemset(data_, 0, count * sizeof(T));
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  operator T*() const { return data_; }

 private:
  T* data_ = nullptr;
};

// Neighbours in one word, written by different threads.
__global__ void bytes(unsigned char* narrow, __half* halves, short* shorts) {
  const int i = threadIdx.x;
  halves[i] = __float2half(static_cast<float>(i));
  narrow[i] = static_cast<unsigned char>(i);
  shorts[i] = static_cast<short>(narrow[i]);
}

// The same words, as a whole by others after a barrier.
__global__ void widths(unsigned* words) {
  auto* const narrow = reinterpret_cast<unsigned char*>(words);
  narrow[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x < blockDim.x / 4) words[threadIdx.x] += 1;
  __syncthreads();
  narrow[threadIdx.x] = 0;
}

__global__ void tree_sum(const int* x, int n, int* total) {
  __shared__ int partial[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int half = kThreads / 2; half > 32; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    int sum = partial[threadIdx.x] + partial[threadIdx.x + 32];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) atomicAdd(total, sum);
  }
}

// In a warp, __syncwarp is barrier enough; also among some of its lanes.
__global__ void warp_scan(int* x) {
  __shared__ int seen[32];
  const int lane = threadIdx.x;
  seen[lane] = x[lane];
  __syncwarp();
  for (int step = 1; step < 32; step *= 2) {
    const int left = lane >= step ? seen[lane - step] : 0;
    __syncwarp();
    seen[lane] += left;
    __syncwarp();
  }
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  const int neighbour = seen[lane ^ 1];
  __syncwarp(half);
  seen[lane] = neighbour;
  __syncwarp(half);
  x[lane] = seen[lane ^ 8];
}

__global__ void histogram(const int* x, int n, int* counts) {
  __shared__ int local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&local[x[i] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

// The last block to come sums up what all of them wrote.
__global__ void last_block(const int* x, int* partial, int* total) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    is_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
    *total = sum;
    blocks_done = 0;
  }
}

// As above, where all threads have written and one tells for them.
__global__ void last_block_of_all(const int* x, int* partial, int* total) {
  __shared__ bool is_last;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[i] = x[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < gridDim.x * blockDim.x; ++k) sum += partial[k];
    *total = sum;
    blocks_done = 0;
  }
}

__global__ void locked(int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence();
  *total += 1;
  __threadfence();
  atomicExch(&lock, 0);
}

// The same with the fences of PTX.
__global__ void locked_by_hand(int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  *total += 1;
  asm volatile("membar.gl;" ::: "memory");
  atomicExch(&lock, 0);
}

// An atomic of one's own, as CUDA's guide has it: what the plain read found is compared by the atomic.
__device__ double add(double* address, double value) {
  auto* const bits = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__global__ void sum_of_doubles(const int* x, double* totals) {
  __shared__ double total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  add(&total, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x % 2 == 0) add(&totals[0], total);
  if (threadIdx.x % 2 == 1) add(&totals[1], total);
}

// What all blocks have counted by atomics, read plainly by the last one; a fence and an atomic are between the two.
__global__ void last_block_of_counts(const int* x, int* counts, int* total) {
  __shared__ bool is_last;
  atomicAdd(&counts[x[threadIdx.x] & 7], 1);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x < 8) total[threadIdx.x] = counts[threadIdx.x];
  if (threadIdx.x == 0) blocks_done = 0;
}

// As if somebody wrote it, and nobody does.
__global__ void readers(int* x, int* y) {
  const volatile int* const seen_by_others = x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i % 3 == 0 ? x[0] : i % 3 == 1 ? seen_by_others[0] : *seen_by_others + x[0];
}

// One thread waits for another of its block, by a flag.
__global__ void hand_over(int* flag, int* value) {
  if (threadIdx.x == 1) {
    *value = 7;
    __threadfence();
    atomicExch(flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    *value += 1;
  }
}

// More barriers than a clock counts.
__global__ void many_steps(int* x) {
  __shared__ int pair[64];
  pair[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 0; step < 5000; ++step) {
    const int other = pair[threadIdx.x ^ 1];
    __syncthreads();
    pair[threadIdx.x] = other;
    __syncthreads();
  }
  for (int step = 0; step < 5000; ++step) {
    const int other = pair[threadIdx.x ^ 1];
    __syncwarp();
    pair[threadIdx.x] = other;
    __syncwarp();
  }
  x[threadIdx.x] = pair[threadIdx.x];
}

struct Pair {
  double value;
  int index;
};

// Aggregates, arrays of a thread's own, constants, and dynamic shared memory seen as two types.
__global__ void aggregates(Pair* pairs, const int* x) {
  extern __shared__ double scratch[];
  int* const indices = reinterpret_cast<int*>(scratch + blockDim.x);
  Pair own[4];
  for (int i = 0; i < 4; ++i) own[i] = {static_cast<double>(x[threadIdx.x] * weights[i % 3]), i};
  scratch[threadIdx.x] = own[threadIdx.x & 3].value;
  indices[threadIdx.x] = own[threadIdx.x & 3].index;
  __syncthreads();
  const int other = (threadIdx.x + 1) % blockDim.x;
  pairs[threadIdx.x] = Pair{scratch[other], indices[other]};
}

// Tiles of eight lanes, each with memory of its own, that know nothing of one another.
__global__ void tiles(int* x) {
  __shared__ int memory[32];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int* const own = memory + tile.meta_group_rank() * 8;
  for (int step = 0; step < 3; ++step) {
    own[tile.thread_rank()] = x[threadIdx.x];
    tile.sync();
    x[threadIdx.x] = own[7 - tile.thread_rank()];
    tile.sync();
  }
}

// Between the two halves lies a barrier of all blocks.
__global__ void whole_grid(int* x, int* y) {
  const int n = gridDim.x * blockDim.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < 3; ++step) {
    x[i] = i + step;
    cg::this_grid().sync();
    y[i] = x[n - 1 - i];
    cg::this_grid().sync();
  }
}

__global__ void vectors(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = make_float4(x[i].x, x[i].y, x[i].z, x[i].w);
}

// Right for as many threads as there are elements.
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }

// The host writes managed memory, and reads it.
int on_managed() {
  int* x;
  cudaMallocManaged(&x, 32 * sizeof(int));
  for (int i = 0; i < 32; ++i) x[i] = 1;
  warp_scan<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  const int result = x[0];
  cudaFree(x);
  return result;
}

__global__ void set_all(int* x, int value) { x[threadIdx.x] = value; }
__global__ void set_flag(const int* x, volatile int* flag) {
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *flag = x[0];
}

// Host code and kernels take turns with memory that both may use, by each way to wait; what both only read, or what the
// kernel does not touch, needs none.
int in_turns() {
  int *x, *other, *flag, last[32];
  cudaMallocManaged(&x, 32 * sizeof(int));
  cudaMallocManaged(&other, 32 * sizeof(int));
  cudaHostAlloc(reinterpret_cast<void**>(&flag), sizeof(int), cudaHostAllocMapped);
  cudaEvent_t done;
  cudaEventCreate(&done);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  set_all<<<1, 32, 0, stream>>>(x, 1);
  other[0] = 1;
  cudaStreamSynchronize(stream);
  int sum = x[0]++;
  set_all<<<1, 32, 0, stream>>>(x, 2);
  cudaEventRecord(done, stream);
  cudaEventSynchronize(done);
  sum += x[1];
  set_all<<<1, 32, 0, stream>>>(x, 3);
  while (cudaStreamQuery(stream) != cudaSuccess) {
  }
  sum += x[2];
  set_all<<<1, 32>>>(x, 4);
  cudaMemcpy(last, x, sizeof last, cudaMemcpyDeviceToHost);
  sum += x[3] + last[3];
  set_all<<<1, 32>>>(x, 5);
  cudaFree(other);
  x[4] += sum;
  *flag = 0;
  set_flag<<<1, 32>>>(x, flag);
  while (*const_cast<volatile int*>(flag) == 0) {
  }
  sum += x[0];
  cudaDeviceSynchronize();
  cudaStreamDestroy(stream);
  cudaEventDestroy(done);
  cudaFreeHost(flag);
  cudaFree(x);
  return sum;
}

// Memory of its own, from C and from C++.
__global__ void own_memory(int* x) {
  int* const copy = static_cast<int*>(malloc(2 * sizeof(int)));
  copy[1] = x[threadIdx.x];
  int* const more = new int[4];
  more[3] = copy[1];
  x[threadIdx.x] = more[3];
  delete[] more;
  free(copy);
}

}  // namespace

extern "C" int run_twice(float* x, int threads) {
  twice<<<1, threads>>>(x);
  return cudaGetLastError();
}

// A host may have a kernel set what later kernels read as constants: bytes, and values of other sizes than a granule.
__constant__ short limits[6];
__constant__ char signs[5] = {1, -1, 1, -1, 1};

__global__ void set_limits(short* where) { where[threadIdx.x] = static_cast<short>(threadIdx.x); }

__global__ void within_limits(int* x) {
  for (int i = 0; i < 5; ++i) x[threadIdx.x] = limits[threadIdx.x % 6] * signs[i] + signs[threadIdx.x % 5];
}

void constants_set_by_a_kernel(int* x) {
  void* where;
  cudaGetSymbolAddress(&where, limits);
  set_limits<<<1, 6>>>(static_cast<short*>(where));
  within_limits<<<1, 64>>>(x);
}

// What lanes that have ended would have said, nobody asks for.
__global__ void lanes_that_are_left(int* x) {
  if (threadIdx.x >= 20) return;
  int together = __popc(__ballot_sync(0xffffffff, threadIdx.x > 4)) + __shfl_sync(0xffffffff, x[threadIdx.x], 7);
  together += __reduce_add_sync(0xffffffff, __any_sync(0xffffffff, threadIdx.x == 3));
  __syncwarp();
  x[threadIdx.x] = together + __shfl_xor_sync(0xffffffff, together, 2);
}

// Memory goes back in the order of its stream, or of another one that waits for it.
void freed_in_order() {
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t written;
  cudaEventCreate(&written);
  for (const cudaStream_t last : {one, other}) {
    int* x;
    cudaMallocAsync(reinterpret_cast<void**>(&x), 32 * sizeof(int), one);
    cudaMemsetAsync(x, 0, 32 * sizeof(int), one);
    warp_scan<<<1, 32, 0, one>>>(x);
    cudaEventRecord(written, one);
    cudaStreamWaitEvent(last, written, 0);
    cudaFreeAsync(x, last);
  }
  cudaEventDestroy(written);
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
}

extern "C" int silent() {
  Buffer<int> x(512), y(512), total(8);
  Buffer<unsigned char> narrow(kThreads);
  Buffer<__half> halves(kThreads);
  Buffer<short> shorts(kThreads);
  Buffer<unsigned> words(kThreads / 4);
  Buffer<Pair> pairs(64);
  Buffer<float4> vector(100), copied(100);
  Buffer<double> sums(2);
  Buffer<float> reals(128);
  for (int repeat = 0; repeat < 2; ++repeat) {
    bytes<<<1, kThreads>>>(narrow, halves, shorts);
    widths<<<1, kThreads>>>(words);
    tree_sum<<<4, kThreads>>>(x, 500, total);
    warp_scan<<<1, 32>>>(x);
    histogram<<<2, kThreads>>>(x, 512, total);
    last_block<<<8, 32>>>(x, y, total);
    last_block_of_all<<<4, 128>>>(x, y, total);
    locked<<<8, 32>>>(total);
    locked_by_hand<<<8, 32>>>(total);
    cudaMemset(y, 0, 512 * sizeof(int));
    hand_over<<<1, 64>>>(y, total);
    sum_of_doubles<<<8, 64>>>(x, sums);
    cudaMemset(y, 0, 8 * sizeof(int));
    last_block_of_counts<<<8, 64>>>(x, y, total);
    readers<<<4, 64>>>(x, y);
    many_steps<<<1, 64>>>(x);
    aggregates<<<1, 64, 64 * (sizeof(double) + sizeof(int))>>>(pairs, x);
    vectors<<<1, 128>>>(vector, copied, 100);
    tiles<<<1, 32>>>(x);
    own_memory<<<1, 32>>>(x);
    lanes_that_are_left<<<1, 32>>>(x);
    constants_set_by_a_kernel(x);
    freed_in_order();
    awaited_copies::run(x, y);
    local_arrays::run(reals, reals + 64);
    int *from = x, *to = y;
    void* arguments[] = {&from, &to};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(whole_grid), dim3(4), dim3(64), arguments, 0, nullptr);
  }
  if (on_managed() == 0 || in_turns() != 19) return -1;
  return cudaDeviceSynchronize();
}
