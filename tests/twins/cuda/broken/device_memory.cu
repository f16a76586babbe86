// The host reads a result without copying it.
#include <cuda_runtime.h>

#include <stdio.h>

static __global__ void answer(int* result) { *result = 42; }

extern "C" void device_memory() {
  int* result;
  cudaMalloc(&result, sizeof(int));
  answer<<<1, 1>>>(result);
  cudaDeviceSynchronize();
  if (*result != 42) puts("wrong");
  cudaFree(result);
}

// Reported:
// cuda-twin: host code: read of 4 bytes of device memory in host code [device-memory]
//   where   device_memory.cu:13
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at device_memory.cu:10
//   hint    copy the data to host memory by cudaMemcpy; on a GPU this ends the program
