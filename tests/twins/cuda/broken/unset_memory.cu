// The sum begins with whatever the memory held.
#include <cuda_runtime.h>

static __global__ void accumulate(const int* x, int* total) { atomicAdd(total, x[threadIdx.x]); }

extern "C" void unset_memory() {
  int *x, *total;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  accumulate<<<1, 32>>>(x, total);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(total);
}

// Reported:
// cuda-twin: accumulate: atomic update of 4 bytes of memory that has not been written [uninitialised-memory]
//   where   unset_memory.cu:4, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 4 bytes that cudaMalloc gave at unset_memory.cu:9
//   hint    fill the memory by cudaMemset, cudaMemcpy or a kernel before reading it
