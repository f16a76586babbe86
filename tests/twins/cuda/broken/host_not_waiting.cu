// The host reads a sum before it has waited for the kernel that adds it up.
#include <cuda_runtime.h>

static __global__ void add_up(const int* x, int n, int* total) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  *total = sum;
}

extern "C" int host_not_waiting() {
  int *x, *total;
  cudaMallocManaged(&x, 8 * sizeof(int));
  cudaMallocManaged(&total, sizeof(int));
  for (int i = 0; i < 8; ++i) x[i] = i;
  add_up<<<1, 1>>>(x, 8, total);
  const int early = *total;
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
  return early;
}

// Reported:
// cuda-twin: host code: read of 4 bytes that a kernel may still be writing: the host has not waited for it [host-race]
//   where   host_not_waiting.cu:16
//   kernel  host_not_waiting.cu:7
//   address 0x…, 0 bytes into the 4 bytes that cudaMallocManaged gave at host_not_waiting.cu:13
//   hint    call cudaDeviceSynchronize(), or wait for the stream or an event, before host code uses the memory
