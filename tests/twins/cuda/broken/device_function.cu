// The host computes what it expects by a function of the device's alone.
#include <cuda_runtime.h>

static __device__ float squared(float x) { return x * x; }
static __global__ void square(float* x) { x[threadIdx.x] = squared(x[threadIdx.x]); }

extern "C" void device_function() {
  float* memory;
  float host = 3;
  cudaMalloc(&memory, sizeof host);
  cudaMemcpy(memory, &host, sizeof host, cudaMemcpyHostToDevice);
  square<<<1, 1>>>(memory);
  const float expected = squared(host);
  cudaMemcpy(&host, memory, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(memory);
  if (host != expected) __builtin_abort();
}

// Reported:
// cuda-twin: host code: host code calls the __device__ function squared, which nvcc refuses [device-function]
//   where   device_function.cu:4
//   hint    declare the function __host__ __device__, or call it in a kernel only
