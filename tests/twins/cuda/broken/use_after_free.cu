// The memory is freed, and a kernel uses it.
#include <cuda_runtime.h>

static __global__ void fill(int* x) { x[threadIdx.x] = 7; }

extern "C" void use_after_free() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaFree(x);
  fill<<<1, 32>>>(x);
  cudaDeviceSynchronize();
}

// Reported:
// cuda-twin: fill: write of 4 bytes of memory that was freed [use-after-free]
//   where   use_after_free.cu:4, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 128 bytes that cudaMalloc gave at use_after_free.cu:8
//   freed   use_after_free.cu:9
//   hint    free the memory after the last kernel that uses it
