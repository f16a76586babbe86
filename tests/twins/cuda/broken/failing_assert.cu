// The kernel says itself that something is wrong.
#include <cuda_runtime.h>

#include <assert.h>

static __global__ void square_root(float* x) {
  assert(x[threadIdx.x] > 0);
  x[threadIdx.x] = sqrtf(x[threadIdx.x]);
}

extern "C" void failing_assert() {
  float* x;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(float));
  square_root<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: square_root: broken/failing_assert.cu:7: assertion `x[threadIdx.x] > 0' failed [trap]
//   where   failing_assert.cu:7, thread (0, 0, 0) of block (0, 0, 0)
//   hint    check why the kernel ran trap: it ended itself
