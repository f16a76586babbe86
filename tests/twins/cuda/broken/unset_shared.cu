// The last thread's neighbour in shared memory was written by nobody.
#include <cuda_runtime.h>

static __global__ void smooth(float* x, int n) {
  __shared__ float seen[65];
  seen[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = (seen[threadIdx.x] + seen[threadIdx.x + 1]) / 2;
}

extern "C" void unset_shared() {
  float* x;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  smooth<<<1, 64>>>(x, 64);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: smooth: read of 4 bytes of shared memory that this block has not written [uninitialised-shared]
//   where   unset_shared.cu:8, thread (63, 0, 0) of block (0, 0, 0)
//   address 0x…, 256 bytes into the 260 bytes of seen
//   hint    write shared memory before reading it: it holds what another block left there
