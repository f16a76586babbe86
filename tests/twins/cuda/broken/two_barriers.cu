// Each half of the block waits at a barrier of its own.
#include <cuda_runtime.h>

static __global__ void both_branches(int* x) {
  __shared__ int seen[32];
  seen[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 16) {
    __syncthreads();
    x[threadIdx.x] = seen[threadIdx.x + 16];
  } else {
    __syncthreads();
    x[threadIdx.x] = -seen[threadIdx.x - 16];
  }
}

extern "C" void two_barriers() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  both_branches<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: both_branches: some threads wait at a barrier, and the others at another one [divergent-barrier]
//   where   two_barriers.cu:8, 16 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   where   two_barriers.cu:11, 16 threads, the first of them thread (16, 0, 0) of block (0, 0, 0)
//   hint    move the barrier out of the branch, and return after it: all threads of a block must reach the same one
