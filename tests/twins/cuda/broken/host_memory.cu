// The kernel is given the host's array.
#include <cuda_runtime.h>

#include <vector>

static __global__ void sum_of(const double* x, int n, double* total) {
  for (int i = 0; i < n; ++i) *total += x[i];
}

extern "C" void host_memory() {
  const std::vector<double> x(16, 1.0);
  double* total;
  cudaMalloc(&total, sizeof(double));
  cudaMemset(total, 0, sizeof(double));
  sum_of<<<1, 1>>>(x.data(), 16, total);
  cudaDeviceSynchronize();
  cudaFree(total);
}

// Reported:
// cuda-twin: sum_of: read of 8 bytes of host memory in device code [host-memory]
//   where   host_memory.cu:7, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…
//   hint    copy the data to memory from cudaMalloc, or allocate it by cudaMallocManaged or cudaMallocHost
