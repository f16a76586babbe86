// One thread resets a shared counter while others count.
#include <cuda_runtime.h>

static __global__ void histogram(const int* x, int* count) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  if (x[threadIdx.x] == 0) atomicAdd(&found, 1);
  __syncthreads();
  if (threadIdx.x == 0) *count = found;
}

extern "C" void plain_beside_atomic() {
  int *x, *count;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMalloc(&count, sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  histogram<<<1, 32>>>(x, count);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(count);
}

// Reported:
// cuda-twin: histogram: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     write at plain_beside_atomic.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   other   atomic update of 4 bytes at plain_beside_atomic.cu:7, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes of found
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
