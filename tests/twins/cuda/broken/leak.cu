// Nobody frees what was allocated: a note, and no failure.
#include <cuda_runtime.h>

extern "C" void leak() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
}

// Reported:
// cuda-twin: note: 1 allocation of 128 bytes in all never freed [leak]
//   where   leak.cu:6
//   hint    free the memory by cudaFree
