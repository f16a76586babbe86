// Right kernels whose threads and blocks wait for each other: each is resident on a GPU, and so each wait ends.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

static bool right = true;
static void expect(bool holds) { right = right && holds; }

template <class T>
struct Managed {
  T* data;
  explicit Managed(int n) {
    cudaMallocManaged(&data, n * sizeof(T));
    for (int i = 0; i < n; ++i) data[i] = T(0);
  }
  ~Managed() { cudaFree(data); }
  T& operator[](int i) { return data[i]; }
};

// A barrier of all blocks by an atomic counter; `round` counts from 1.
static __device__ void meet(int* count, int round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) < round * int(gridDim.x)) {
    }
    __threadfence();
  }
  __syncthreads();
}

static __global__ void rounds(int* count, int* a, int* b, int times) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < times; ++t) {
    b[i] = a[(i + blockDim.x) % n] + 1;
    meet(count, 2 * t + 1);
    a[i] = b[i];
    meet(count, 2 * t + 2);
  }
}

static void meetings(int blocks, int threads, int times, bool cooperative) {
  Managed<int> count(1), a(blocks * threads), b(blocks * threads);
  if (cooperative) {
    void* arguments[] = {&count.data, &a.data, &b.data, &times};
    cudaLaunchCooperativeKernel((void*)rounds, blocks, threads, arguments);
  } else {
    rounds<<<blocks, threads>>>(count.data, a.data, b.data, times);
  }
  expect(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < blocks * threads; ++i) expect(a[i] == times);
}

// Each block waits for the one before it, or the one behind it.
static __global__ void relay(int* ticket, int* sum, bool backwards) {
  const int turn = backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  if (threadIdx.x == 0) {
    while (atomicCAS(ticket, turn, turn) != turn) {
    }
    __threadfence();
    *sum += turn;
    __threadfence();
    atomicExch(ticket, turn + 1);
  }
}

static void relays(int blocks, bool backwards) {
  Managed<int> ticket(1), sum(1);
  relay<<<blocks, 32>>>(ticket.data, sum.data, backwards);
  expect(cudaDeviceSynchronize() == cudaSuccess);
  expect(sum[0] == blocks * (blocks - 1) / 2);
}

// Threads of a block that wait for the next one, the last for nobody.
static __global__ void chain(int* state, int n) {
  const int i = threadIdx.x;
  bool waiting = true;
  while (waiting) {
    waiting = i + 1 < n && atomicOr(&state[i + 1], 0) == 0;
    if (!waiting) atomicExch(&state[i], 1);
  }
}

static void chains(int threads) {
  Managed<int> state(threads);
  chain<<<1, threads>>>(state.data, threads);
  expect(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < threads; ++i) expect(state[i] == 1);
}

// All blocks want one lock, which the first thread of each takes for all.
static __global__ void in_turn(int* lock, int* total) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd(&mine, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    while (atomicExch(lock, 1) != 0) {
    }
    __threadfence();
    *total += mine;
    __threadfence();
    atomicExch(lock, 0);
  }
}

static void locks(int blocks) {
  Managed<int> lock(1), total(1);
  in_turn<<<blocks, 64>>>(lock.data, total.data);
  expect(cudaDeviceSynchronize() == cudaSuccess);
  expect(total[0] == 64 * blocks);
}

// A warp hands over to a warp of another block: its first lane tells of what all lanes wrote.
static __global__ void warps(int* data, int* flag, int* out) {
  if (blockIdx.x == 1) {
    data[threadIdx.x] = threadIdx.x;
    __syncwarp();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (atomicAdd(flag, 0) == 0) {
      }
      __threadfence();
    }
    __syncwarp();
    out[threadIdx.x] = data[31 - threadIdx.x];
  }
}

static void warps_meet() {
  Managed<int> data(32), flag(1), out(32);
  warps<<<2, 32>>>(data.data, flag.data, out.data);
  expect(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 32; ++i) expect(out[i] == 31 - i);
}

// Within a block, what is for its threads alone is enough.
static __global__ void in_block(int* data, int* flag, int* sums, int* counts) {
  int* const mine = data + blockIdx.x * 64;
  if (threadIdx.x < 32) {
    mine[threadIdx.x] = 1;
    __threadfence_block();
    atomicAdd_block(&flag[blockIdx.x], 1);
  } else {
    while (atomicAdd_block(&flag[blockIdx.x], 0) < 32) {
    }
    __threadfence_block();
    atomicAdd_block(&sums[blockIdx.x], mine[threadIdx.x - 32]);
  }
  atomicAdd(&counts[threadIdx.x], 1);
}

static void blocks_for_themselves(int blocks) {
  Managed<int> data(64 * blocks), flag(blocks), sums(blocks), counts(64);
  in_block<<<blocks, 64>>>(data.data, flag.data, sums.data, counts.data);
  expect(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < blocks; ++i) expect(sums[i] == 32);
  for (int i = 0; i < 64; ++i) expect(counts[i] == blocks);
}

extern "C" int waiting() {
  meetings(2, 32, 1, true);
  meetings(2, 64, 2, false);
  meetings(64, 128, 2, false);
  meetings(8, 1024, 1, true);
  relays(3, true);
  relays(100, false);
  relays(100, true);
  chains(2);
  chains(64);
  chains(256);
  locks(3);
  locks(80);
  warps_meet();
  blocks_for_themselves(3);
  return right ? 0 : 1;
}
