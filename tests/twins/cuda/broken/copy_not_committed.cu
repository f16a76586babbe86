// A wait for groups of copies, before which no group was ended.
#include <cuda_runtime.h>

static __global__ void doubled(const float* x, float* y) {
  __shared__ float tile[32];
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + threadIdx.x));
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  y[threadIdx.x] = 2 * tile[threadIdx.x];
}

extern "C" void copy_not_committed() {
  float *x, *y;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float));
  cudaMemset(x, 0, 32 * sizeof(float));
  doubled<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: doubled: read of 4 bytes of shared memory that an asynchronous copy may still be writing [copy-in-flight]
//   where   copy_not_committed.cu:10, thread (0, 0, 0) of block (0, 0, 0)
//   copy    copy_not_committed.cu:7, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 128 bytes of tile
//   hint    end the group of copies (__pipeline_commit, cp.async.commit_group) and wait for it, or use cp.async.wait_all: only committed groups are waited for
