// Two owners.
#include <cuda_runtime.h>

extern "C" void double_free() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaFree(x);
  cudaFree(x);
}

// Reported:
// cuda-twin: cudaFree: cudaFree of memory that was freed before [bad-free]
//   where   double_free.cu:8
//   address 0x…, 0 bytes into the 128 bytes that cudaMalloc gave at double_free.cu:6
//   freed   double_free.cu:7
//   hint    free each allocation once, by the address that was returned
