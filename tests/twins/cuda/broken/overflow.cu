// The grid has more threads than there are elements, and nothing holds them back.
#include <cuda_runtime.h>

static __global__ void scale(float* x, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * by;
}

extern "C" void overflow() {
  float* x;
  cudaMalloc(&x, 1000 * sizeof(float));
  cudaMemset(x, 0, 1000 * sizeof(float));
  scale<<<4, 256>>>(x, 2.0f);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: scale: read of 4 bytes out of bounds [out-of-bounds]
//   where   overflow.cu:6, thread (232, 0, 0) of block (3, 0, 0)
//   address 0x…, 0 bytes after the end of the 4000 bytes that cudaMalloc gave at overflow.cu:11
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
