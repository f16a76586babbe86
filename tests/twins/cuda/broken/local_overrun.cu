// The function writes one element more than the array of its caller has.
#include <cuda_runtime.h>

static __device__ void load(float* to, const float* from, int n) {
  for (int i = 0; i <= n; ++i) to[i] = from[i];
}

static __global__ void row_products(const float* x, float* products) {
  float row[4];
  load(row, x + threadIdx.x * 4, 4);
  products[threadIdx.x] = row[0] * row[1] * row[2] * row[3];
}

extern "C" void local_overrun() {
  float* memory;
  cudaMalloc(&memory, 5 * 32 * sizeof(float));
  cudaMemset(memory, 0, 5 * 32 * sizeof(float));
  row_products<<<1, 32>>>(memory, memory + 4 * 32);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

// Reported:
// cuda-twin: row_products: write of 4 bytes out of bounds of a local array [out-of-bounds]
//   where   local_overrun.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   array   0 bytes after the end of the 16 bytes of `row`
//   hint    keep the index or pointer within the array: a GPU has other local variables there
