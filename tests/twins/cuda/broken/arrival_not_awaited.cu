// A thread comes to a barrier of its own, and reads what others have written without waiting for them.
#include <cuda_awbarrier_primitives.h>
#include <cuda_runtime.h>

static __global__ void neighbours(int* out) {
  __shared__ int values[32];
  __shared__ __mbarrier_t all;
  const int t = threadIdx.x;
  if (t == 0) __mbarrier_init(&all, 32);
  values[t] = 0;
  __syncthreads();
  values[t] = t;
  __mbarrier_arrive(&all);
  out[t] = values[(t + 1) % 32];
}

extern "C" void arrival_not_awaited() {
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  neighbours<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}

// Reported:
// cuda-twin: neighbours: two threads race on shared memory: nothing orders them, and one writes [shared-race]
//   one     write of 4 bytes at arrival_not_awaited.cu:12, thread (0, 0, 0) of block (0, 0, 0)
//   other   read at arrival_not_awaited.cu:14, thread (31, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes into the 128 bytes of values
//   hint    put __syncthreads() between the two, or __syncwarp() where both threads are of one warp
