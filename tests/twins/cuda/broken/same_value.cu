// Every thread that finds a zero says so: all of them write the same, which works, and is worth a note.
#include <cuda_runtime.h>

static __global__ void has_zero(const int* x, int* found) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] == 0) *found = 1;
}

extern "C" void same_value() {
  int *x, *found;
  cudaMalloc(&x, 2048 * sizeof(int));
  cudaMalloc(&found, sizeof(int));
  cudaMemset(x, 0, 2048 * sizeof(int));
  for (int repeat = 0; repeat < 100; ++repeat) {
    cudaMemset(found, 0, sizeof(int));
    has_zero<<<64, 32>>>(x, found);
  }
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(found);
}

// Reported:
// cuda-twin: has_zero: two threads write the same value to global memory, and nothing orders them [same-value]
//   one     write at same_value.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   other   write of 4 bytes at same_value.cu:5, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at same_value.cu:11
//   hint    let one thread write it: more threads cost time, and different values would be a race
