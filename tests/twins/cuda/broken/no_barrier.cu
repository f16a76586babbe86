// A reduction without the barrier between its steps.
#include <cuda_runtime.h>

static __global__ void block_sum(const int* x, int* total) {
  __shared__ int partial[128];
  partial[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *total = partial[0];
}

extern "C" void no_barrier() {
  int *x, *total;
  cudaMalloc(&x, 128 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemset(x, 0, 128 * sizeof(int));
  block_sum<<<1, 128>>>(x, total);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
}

// Reported:
// cuda-twin: block_sum: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     read at no_barrier.cu:9, thread (0, 0, 0) of block (0, 0, 0)
//   other   write of 4 bytes at no_barrier.cu:9, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 4 bytes into the 512 bytes of partial
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
