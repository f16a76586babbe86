// Each thread moves its element one to the right, while its neighbour may not have read it.
#include <cuda_runtime.h>

static __global__ void shift(int* x, int n) {
  const int i = threadIdx.x;
  if (i + 1 < n) x[i + 1] = x[i];
}

extern "C" void neighbour_race() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  shift<<<1, 32>>>(x, 32);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: shift: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at neighbour_race.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at neighbour_race.cu:6, thread (1, 0, 0) of block (0, 0, 0)
//   address 0x…, 4 bytes into the 128 bytes that cudaMalloc gave at neighbour_race.cu:11
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order
