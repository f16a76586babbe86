// Threads without an element leave the function that has the barrier, and are at their end.
#include <cuda_runtime.h>

static __device__ void turn(int* x, int n, int* seen) {
  if (threadIdx.x >= n) return;
  seen[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = seen[(threadIdx.x + 1) % n];
}

static __global__ void turned(int* x, int n) {
  __shared__ int seen[64];
  turn(x, n, seen);
}

extern "C" void early_return_of_function() {
  int* x;
  cudaMalloc(&x, 50 * sizeof(int));
  cudaMemset(x, 0, 50 * sizeof(int));
  turned<<<1, 64>>>(x, 50);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: turned: some threads wait at a barrier, and the others have returned [early-return]
//   where   early_return_of_function.cu:7, 50 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   ended   14 threads, the first of them thread (50, 0, 0) of block (0, 0, 0)
//   hint    return after the last barrier: GPUs before Volta wait for all threads, later ones for the others only
