// Sixty-four KiB of static shared memory, of which there are forty-eight.
#include <cuda_runtime.h>

static __global__ void large(float* x) {
  __shared__ float first[8192];
  __shared__ float second[8192];
  first[threadIdx.x] = second[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

extern "C" void much_shared() {
  float* x;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(float));
  large<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: large: second does not fit: a kernel has 49152 bytes of __shared__ variables, and a block 166912 in all [shared-size]
//   where   much_shared.cu:6, thread (0, 0, 0) of block (0, 0, 0)
//   hint    use less, or use dynamic shared memory, whose limit cudaFuncSetAttribute raises
