// Every block adds to the same total.
#include <cuda_runtime.h>

static __global__ void add_up(const float* x, float* total) {
  if (threadIdx.x == 0) *total += x[blockIdx.x];
}

extern "C" void blocks_race() {
  float *x, *total;
  cudaMalloc(&x, 2 * sizeof(float));
  cudaMalloc(&total, sizeof(float));
  cudaMemset(x, 0, 2 * sizeof(float));
  cudaMemset(total, 0, sizeof(float));
  add_up<<<2, 32>>>(x, total);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
}

// Reported:
// cuda-twin: add_up: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at blocks_race.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at blocks_race.cu:5, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at blocks_race.cu:11
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order
