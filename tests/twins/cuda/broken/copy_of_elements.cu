// The size is in elements of the wrong type.
#include <cuda_runtime.h>

extern "C" void copy_of_elements() {
  double host[32] = {};
  float* x;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMemcpy(x, host, 32 * sizeof(double), cudaMemcpyHostToDevice);
  cudaFree(x);
}

// Reported:
// cuda-twin: cudaMemcpy: write of 256 bytes beyond an allocation [copy-size]
//   where   copy_of_elements.cu:8
//   address 0x…, 0 bytes into the 128 bytes that cudaMalloc gave at copy_of_elements.cu:7
//   hint    sizes are in bytes: compare this one with the allocation's
