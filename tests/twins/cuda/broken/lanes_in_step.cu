// The end of a reduction as it was written before Volta: the lanes of a warp are not in step.
#include <cuda_runtime.h>

static __global__ void warp_sum(const int* x, int* total) {
  __shared__ volatile int partial[32];
  partial[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  if (threadIdx.x < 16) partial[threadIdx.x] += partial[threadIdx.x + 16];
  if (threadIdx.x < 8) partial[threadIdx.x] += partial[threadIdx.x + 8];
  if (threadIdx.x == 0) *total = partial[0];
}

extern "C" void lanes_in_step() {
  int *x, *total;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  warp_sum<<<1, 32>>>(x, total);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
}

// Reported:
// cuda-twin: warp_sum: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     read at lanes_in_step.cu:9, thread (0, 0, 0) of block (0, 0, 0)
//   other   write of 4 bytes at lanes_in_step.cu:8, thread (8, 0, 0) of block (0, 0, 0)
//   address 0x…, 32 bytes into the 128 bytes of partial
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
