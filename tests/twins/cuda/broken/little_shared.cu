// The launch gives less dynamic shared memory than the kernel uses.
#include <cuda_runtime.h>

static __global__ void turn_around(int* x) {
  extern __shared__ int turned[];
  turned[blockDim.x - 1 - threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = turned[threadIdx.x];
}

extern "C" void little_shared() {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  turn_around<<<1, 64, 64>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: turn_around: write of 4 bytes out of bounds of shared memory [out-of-bounds]
//   where   little_shared.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 188 bytes after the end of the 64 bytes of the dynamic shared memory
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
