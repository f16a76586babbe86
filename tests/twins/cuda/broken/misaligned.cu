// Four floats at a time, from the second one on.
#include <cuda_runtime.h>

static __global__ void copy4(const float* x, float4* y) {
  y[threadIdx.x] = *reinterpret_cast<const float4*>(x + 1 + 4 * threadIdx.x);
}

extern "C" void misaligned() {
  float* x;
  float4* y;
  cudaMalloc(&x, 132 * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float4));
  cudaMemset(x, 0, 132 * sizeof(float));
  copy4<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: copy4: read of type 'const struct float4' at an address that is not a multiple of 16 [misaligned]
//   where   misaligned.cu:5, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…
//   hint    a vector type needs an address that is a multiple of its size: handle the first elements one by one
