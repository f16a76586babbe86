// The mask names all lanes, and half of them have left.
#include <cuda_runtime.h>

static __global__ void first_half(int* x) {
  if (threadIdx.x >= 16) return;
  x[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);
}

extern "C" void lane_never_comes() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  first_half<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: first_half: a mask names lanes that do not come, which have ended, while others read their values [lane-never-comes]
//   where   lane_never_comes.cu:6, 16 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   ended   16 threads, the first of them thread (16, 0, 0) of block (0, 0, 0)
//   hint    name only calling lanes in the mask: compute it by __ballot_sync before the branch
