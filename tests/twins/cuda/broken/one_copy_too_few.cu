// Of two stages the kernel waits for the older one alone, and then reads both.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

static __global__ void added(const float* x, float* y) {
  __shared__ float stage[2][32];
  const cg::thread_block block = cg::this_thread_block();
  for (int i = 0; i < 2; ++i) cg::memcpy_async(block, stage[i], x + 32 * i, sizeof(stage[i]));
  cg::wait_prior<1>(block);
  y[threadIdx.x] = stage[0][threadIdx.x] + stage[1][threadIdx.x];
}

extern "C" void one_copy_too_few() {
  float *x, *y;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  added<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}

// Reported:
// cuda-twin: added: read of 4 bytes of shared memory that an asynchronous copy may still be writing [copy-in-flight]
//   where   one_copy_too_few.cu:13, thread (0, 0, 0) of block (0, 0, 0)
//   copy    one_copy_too_few.cu:11, thread (0, 0, 0) of block (0, 0, 0)
//   address 0x…, 128 bytes into the 256 bytes of stage
//   hint    wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads(), then read
