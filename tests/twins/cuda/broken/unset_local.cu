// Sums begin with whatever the registers hold.
#include <cuda_runtime.h>

static __global__ void row_sums(const float* x, float* sums) {
  float sum[4];
  for (int i = 0; i < 32; ++i) sum[i % 4] += x[threadIdx.x * 32 + i];
  sums[threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}

extern "C" void unset_local() {
  float* memory;
  cudaMalloc(&memory, 33 * 32 * sizeof(float));
  cudaMemset(memory, 0, 33 * 32 * sizeof(float));
  row_sums<<<1, 32>>>(memory, memory + 32 * 32);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

// Reported:
// cuda-twin: row_sums: read of 4 bytes of a local array that the thread has not written [uninitialised-local]
//   where   unset_local.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   array   element 0 of `sum`
//   hint    give the array a value where it is declared, as in `float sums[8] = {}`
