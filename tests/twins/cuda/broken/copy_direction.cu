// The result comes from the device, and nobody looks at the error.
#include <cuda_runtime.h>

extern "C" void copy_direction() {
  int host[32], *x;
  cudaMalloc(&x, sizeof host);
  cudaMemset(x, 0, sizeof host);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToDevice);
  cudaFree(x);
}

// Reported:
// cuda-twin: cudaMemcpy: read of device memory, by a copy whose direction says that it is the host's [copy-direction]
//   where   copy_direction.cu:8
//   address 0x…, 0 bytes into the 128 bytes that cudaMalloc gave at copy_direction.cu:6
//   hint    name the direction of the copy, as in cudaMemcpyDeviceToHost; cudaMemcpyDefault finds it by itself
