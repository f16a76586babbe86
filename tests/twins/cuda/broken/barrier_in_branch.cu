// Half of the block waits for all of it, and the other half for its warp, whose lanes wait elsewhere.
#include <cuda_runtime.h>

static __global__ void halves(int* x) {
  if (threadIdx.x < 16) {
    __syncthreads();
    x[threadIdx.x] = 1;
  } else {
    __syncwarp();
    x[threadIdx.x] = 2;
  }
}

extern "C" void barrier_in_branch() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  halves<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: halves: some threads wait at a barrier, and the others wait for something else [divergent-barrier]
//   where   barrier_in_branch.cu:6, 16 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   where   barrier_in_branch.cu:9, 16 threads, the first of them thread (16, 0, 0) of block (0, 0, 0)
//   hint    move the barrier out of the branch, and return after it: all threads of a block must reach the same one
