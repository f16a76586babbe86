// Lanes shuffle with a mask that names only the even ones.
#include <cuda_runtime.h>

static __global__ void pairs(int* x) { x[threadIdx.x] = __shfl_xor_sync(0x55555555, x[threadIdx.x], 1); }

extern "C" void lane_not_in_mask() {
  int* x;
  cudaMalloc(&x, 32 * sizeof(int));
  cudaMemset(x, 0, 32 * sizeof(int));
  pairs<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: pairs: __shfl_xor_sync was called by lane 1 with the mask 0x55555555, which has not that lane in it [lane-not-in-mask]
//   where   lane_not_in_mask.cu:4, thread (1, 0, 0) of block (0, 0, 0)
//   hint    name every calling lane in the mask, this one too: compute it by __ballot_sync before the branch
