// Blocks add up their part of a sum, and each reads the total while others still add.
#include <cuda_runtime.h>

static __global__ void average(const int* x, int* total, float* out) {
  atomicAdd(total, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<float>(*total) / (gridDim.x * blockDim.x);
}

extern "C" void plain_in_global() {
  int *x, *total;
  float* out;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMalloc(&out, 2 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(int));
  cudaMemset(total, 0, sizeof(int));
  average<<<2, 32>>>(x, total, out);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
  cudaFree(out);
}

// Reported:
// cuda-twin: average: two threads race on global memory: nothing orders them, and one writes [global-race]
//   one     read at plain_in_global.cu:7, thread (0, 0, 0) of block (0, 0, 0)
//   other   atomic update of 4 bytes at plain_in_global.cu:5, thread (0, 0, 0) of block (1, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at plain_in_global.cu:14
//   hint    let one thread write each element, use atomics, or split the kernel in two; blocks have no order
