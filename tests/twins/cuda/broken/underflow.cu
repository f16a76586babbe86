// A stencil that reads its left neighbour, the first element included.
#include <cuda_runtime.h>

static __global__ void difference(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] - x[i - 1];
}

extern "C" void underflow() {
  int *x, *y;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMalloc(&y, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  difference<<<2, 32>>>(x, y, 64);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: difference: read of 4 bytes out of bounds [out-of-bounds]
//   where   underflow.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 4 bytes before the 256 bytes that cudaMalloc gave at underflow.cu:11
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
