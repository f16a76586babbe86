// The barrier waits for the threads, and not for their copies.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

static __global__ void reversed(const float* x, float* y) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" void copy_not_awaited() {
  float *x, *y;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&y, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  reversed<<<1, 64>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: reversed: read of 4 bytes of shared memory that an asynchronous copy may still be writing [copy-in-flight]
//   where   copy_not_awaited.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   copy    copy_not_awaited.cu:7, thread (63, 0, 0) of block (0, 0, 0)
//   address 0x…, 252 bytes into the 256 bytes of tile
//   hint    wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads(), then read
