// Threads without an element leave, and the others wait: for those alone that have not ended.
#include <cuda_runtime.h>

static __global__ void rotate(int* x, int n) {
  __shared__ int seen[64];
  if (threadIdx.x >= n) return;
  seen[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = seen[(threadIdx.x + 1) % n];
}

extern "C" void early_return() {
  int* x;
  cudaMalloc(&x, 50 * sizeof(int));
  cudaMemset(x, 0, 50 * sizeof(int));
  rotate<<<1, 64>>>(x, 50);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: rotate: some threads wait at a barrier, and the others have returned [early-return]
//   where   early_return.cu:8, 50 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   ended   14 threads, the first of them thread (50, 0, 0) of block (0, 0, 0)
//   hint    return after the last barrier: GPUs before Volta wait for all threads, later ones for the others only
