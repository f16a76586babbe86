// A kernel leaves its result in constant memory, for the next one to read.
#include <cuda_runtime.h>

static __constant__ float factors[4];

static __global__ void double_factors() { factors[threadIdx.x] *= 2; }

extern "C" void constant_write() {
  double_factors<<<1, 4>>>();
  cudaDeviceSynchronize();
}

// Reported:
// cuda-twin: double_factors: write of 4 bytes of constant memory [constant-write]
//   where   constant_write.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 16 bytes of the variable `factors`
//   hint    set it on the host by cudaMemcpyToSymbol, or make it a __device__ variable: nvcc leaves out what a kernel stores there
