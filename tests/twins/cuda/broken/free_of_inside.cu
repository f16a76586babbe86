// What is freed is not what was allocated.
#include <cuda_runtime.h>

extern "C" void free_of_inside() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  ++x;
  cudaFree(x);
  cudaFree(x - 1);
}

// Reported:
// cuda-twin: cudaFree: cudaFree of an address inside an allocation [bad-free]
//   where   free_of_inside.cu:8
//   address 0x…, 4 bytes into the 128 bytes that cudaMalloc gave at free_of_inside.cu:6
//   hint    free each allocation once, by the address that was returned
