// Kernels with many barriers, meetings of lanes, and fences: each is right, or with `race` wrong at its last turn.
#include <stdint.h>

extern "C" void ob_twin_count_runs_from(uint64_t run);

// One thread writes, another changes, all read.
__device__ void take_turns(int& place, int turns, bool race) {
  int seen = 0;
  for (int i = 0; i < turns; ++i) {
    if (threadIdx.x == 0) place = i;
    __syncthreads();
    if (threadIdx.x == 5) place += 1;
    if (!race || i + 1 < turns) __syncthreads();
    seen += place == i + 1;
    __syncthreads();
  }
  if (!race && seen != turns) __trap();
}

__global__ void in_shared_memory(int turns, bool race, int*) {
  __shared__ int place;
  take_turns(place, turns, race);
}

__global__ void in_global_memory(int turns, bool race, int* global) { take_turns(global[blockIdx.x], turns, race); }

// The numbers of runs are almost used up when its first block begins.
__global__ void past_the_last_run(int turns, bool race, int* global) {
  __shared__ int place;
  if (blockIdx.x == 0 && threadIdx.x == 0) ob_twin_count_runs_from((uint64_t{1} << 26) - 4);
  __syncthreads();
  take_turns(place, turns, race);
  take_turns(global[blockIdx.x], turns, race);
}

// Lanes without a barrier of the block.
__global__ void lanes(int turns, bool race, int* global) {
  __shared__ int places[2];
  int& place = places[threadIdx.x / 32];
  int seen = 0;
  for (int i = 0; i < turns; ++i) {
    if (threadIdx.x == 3) place = i;
    __syncwarp();
    seen += threadIdx.x < 32 && place == i;
    if (!race || i + 1 < turns) __syncwarp();
  }
  if (threadIdx.x == 3) place = turns;
  __syncthreads();
  if (threadIdx.x == 0) global[blockIdx.x] = places[0];
  if (!race && threadIdx.x < 32 && seen != turns) __trap();
}

// Blocks that share a lock; without the last fence nothing says that others see what was done.
__global__ void locked(int turns, bool race, int* global) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < turns; ++i) {
    while (atomicCAS(&global[0], 0, 1) != 0) {
    }
    __threadfence();
    global[1] += 1;
    if (!race) __threadfence();
    atomicExch(&global[0], 0);
  }
}

constexpr int kBlocks = 3, kThreads = 33;

template <class Kernel>
static int run(Kernel kernel, int turns, bool race) {
  int* global;
  cudaMalloc(&global, kBlocks * sizeof(int));
  cudaMemset(global, 0, kBlocks * sizeof(int));
  kernel<<<kBlocks, kThreads>>>(turns, race, global);
  const int error = cudaDeviceSynchronize();
  cudaFree(global);
  return error;
}

#define TURNS(kernel) \
  extern "C" int run_##kernel(int turns, bool race) { return run(kernel, turns, race); }
TURNS(in_shared_memory)
TURNS(in_global_memory)
TURNS(past_the_last_run)
TURNS(lanes)
TURNS(locked)

// The textbook's product of matrices, by tiles of 16 x 16.
constexpr int kTile = 16;
__global__ void product(const float* a, const float* b, float* c, int columns, int inner) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < inner / kTile; ++tile) {
    left[threadIdx.y][threadIdx.x] = a[row * inner + tile * kTile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(tile * kTile + threadIdx.y) * columns + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * columns + column] = sum;
}

extern "C" int run_product(const float* a, const float* b, float* c, int rows, int columns, int inner) {
  product<<<dim3(columns / kTile, rows / kTile), dim3(kTile, kTile)>>>(a, b, c, columns, inner);
  return cudaDeviceSynchronize();
}

extern "C" int allocate(void** memory, size_t bytes) { return cudaMallocManaged(memory, bytes); }
extern "C" int release(void* memory) { return cudaFree(memory); }
