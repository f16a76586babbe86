// All lanes of a warp store the sum of the warp, but only the first of them has it.
#include <cuda_runtime.h>

static __global__ void sums(const int* x, int* out) {
  __shared__ int sum[2];
  int mine = x[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
  sum[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) *out = sum[0] + sum[1];
}

extern "C" void other_value() {
  int host[64], *x, *out;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  sums<<<1, 64>>>(x, out);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(out);
}

// Reported:
// cuda-twin: sums: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     write of 4 bytes at other_value.cu:8, thread (0, 0, 0) of block (0, 0, 0)
//   other   write at other_value.cu:8, thread (31, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 8 bytes of sum
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
