// A launch that gives none of the dynamic shared memory which the kernel uses.
#include <cuda_runtime.h>

static __global__ void turn_around_in_none(int* x) {
  extern __shared__ int none[];
  none[blockDim.x - 1 - threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = none[threadIdx.x];
}

extern "C" void shared_not_given() {
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  turn_around_in_none<<<1, 64>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: turn_around_in_none: write of 4 bytes out of bounds of shared memory [out-of-bounds]
//   where   shared_not_given.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, where this launch gives no dynamic shared memory
//   hint    give the number of bytes, the third argument of <<<blocks, threads, bytes>>>
