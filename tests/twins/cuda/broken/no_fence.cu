// The last block sums up what the others wrote, but they counted themselves without a fence.
#include <cuda_runtime.h>

static __global__ void two_steps(const int* x, int* partial, unsigned* done, int* total) {
  partial[blockIdx.x] = x[blockIdx.x];
  if (atomicAdd(done, 1) != gridDim.x - 1) return;
  int sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
  *total = sum;
}

extern "C" void no_fence() {
  int *x, *partial, *total;
  unsigned* done;
  cudaMalloc(&x, 2 * sizeof(int));
  cudaMalloc(&partial, 2 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMalloc(&done, sizeof(unsigned));
  cudaMemset(x, 0, 2 * sizeof(int));
  cudaMemset(done, 0, sizeof(unsigned));
  two_steps<<<2, 1>>>(x, partial, done, total);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(partial);
  cudaFree(total);
  cudaFree(done);
}

// Reported:
// cuda-twin: two_steps: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     write at no_fence.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   other   read of 4 bytes at no_fence.cu:8, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 8 bytes that cudaMalloc gave at no_fence.cu:16
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order
