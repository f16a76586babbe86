// The wait comes behind the barrier: each thread has its own copy, and may not have its neighbour's.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

static __global__ void shifted(const float* x, float* y) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(float));
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  y[threadIdx.x] = tile[(threadIdx.x + 63) % 64];
}

extern "C" void barrier_before_wait() {
  float *x, *y;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&y, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  shifted<<<1, 64>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: shifted: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     read of 4 bytes at barrier_before_wait.cu:11, thread (0, 0, 0) of block (0, 0, 0)
//   other   write at barrier_before_wait.cu:7, thread (63, 0, 0) of block (0, 0, 0)
//   address 0x…, 252 bytes into the 256 bytes of tile
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
// cuda-twin: shifted: read of 4 bytes of shared memory that an asynchronous copy may still be writing [copy-in-flight]
//   where   barrier_before_wait.cu:11, thread (63, 0, 0) of block (0, 0, 0)
//   copy    barrier_before_wait.cu:7, thread (62, 0, 0) of block (0, 0, 0)
//   address 0x…, 248 bytes into the 256 bytes of tile
//   hint    wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads(), then read
