// The index leaves out blockIdx: all blocks write the elements of the first one.
#include <cuda_runtime.h>

static __global__ void fill_by_thread(float* x, int n) {
  const int i = threadIdx.x;
  if (i < n) x[i] = 1;
}

extern "C" void same_index_in_blocks() {
  float* x;
  cudaMalloc(&x, 1000 * sizeof(float));
  fill_by_thread<<<4, 256>>>(x, 1000);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: fill_by_thread: two threads write the same value to global memory, and nothing orders them [same-value]
//   one     write at same_index_in_blocks.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   other   write of 4 bytes at same_index_in_blocks.cu:6, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4000 bytes that cudaMalloc gave at same_index_in_blocks.cu:11
//   hint    each block writes the same elements: if they were to be its own, add blockIdx.x * blockDim.x to the index, for without it none from 256 on is written
