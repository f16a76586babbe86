// Threads without an element leave the barrier out, and come to their end.
#include <cuda_runtime.h>

static __global__ void shifted(int* x, int n) {
  __shared__ int seen[64];
  if (threadIdx.x < n) {
    seen[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = seen[(threadIdx.x + 1) % n];
  }
}

extern "C" void barrier_left_out() {
  int* x;
  cudaMalloc(&x, 50 * sizeof(int));
  cudaMemset(x, 0, 50 * sizeof(int));
  shifted<<<1, 64>>>(x, 50);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: shifted: some threads wait at a barrier, which the other threads skipped [divergent-barrier]
//   where   barrier_left_out.cu:8, 50 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   ended   14 threads, the first of them thread (50, 0, 0) of block (0, 0, 0)
//   hint    move the barrier out of the branch, and return after it: all threads of a block must reach the same one
