// A block of 2048 threads, and nobody asks what became of it.
#include <cuda_runtime.h>

static __global__ void one_each(int* x) { x[threadIdx.x] = 1; }

extern "C" void large_block() {
  int* x;
  cudaMalloc(&x, 2048 * sizeof(int));
  one_each<<<1, 2048>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: one_each: the block is (2048, 1, 1), and the most are (1024, 1024, 64) threads [bad-launch]
//   where   large_block.cu:9
//   hint    at most 1024 threads a block; more blocks instead
// cuda-twin: one_each: the launch failed with cudaErrorInvalidConfiguration, and nothing asked for the error [unchecked-error]
//   where   large_block.cu:9
//   hint    call cudaGetLastError() after each launch
