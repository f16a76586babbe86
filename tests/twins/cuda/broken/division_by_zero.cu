// An empty row has no mean, and no machine that is not a GPU goes on after this.
#include <cuda_runtime.h>

static __global__ void means(int* sums, const int* counts) { sums[threadIdx.x] /= counts[threadIdx.x]; }

extern "C" void division_by_zero() {
  const int of_host[] = {3, 0};
  int *sums, *counts;
  cudaMalloc(&sums, sizeof of_host);
  cudaMalloc(&counts, sizeof of_host);
  cudaMemset(sums, 1, sizeof of_host);
  cudaMemcpy(counts, of_host, sizeof of_host, cudaMemcpyHostToDevice);
  means<<<1, 2>>>(sums, counts);
  cudaDeviceSynchronize();
  cudaFree(sums);
  cudaFree(counts);
}

// Reported:
// cuda-twin: means: division of a number of type 'int' by zero [division-by-zero]
//   where   division_by_zero.cu:4, thread (1, 0, 0) of block (0, 0, 0)
//   hint    check for zero first: a GPU continues with an undefined number
