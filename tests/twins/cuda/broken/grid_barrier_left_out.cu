// Threads without an element leave, and the others wait for the whole grid.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

static __global__ void shift_by_block(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int next = x[(i + blockDim.x) % n];
  cooperative_groups::this_grid().sync();
  x[i] = next;
}

extern "C" void grid_barrier_left_out() {
  int *x, n = 48;
  cudaMalloc(&x, n * sizeof(int));
  cudaMemset(x, 0, n * sizeof(int));
  void* arguments[] = {&x, &n};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(shift_by_block), dim3(2), dim3(32), arguments, 0, nullptr);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: shift_by_block: some threads wait at a barrier, which the other threads skipped [divergent-barrier]
//   where   grid_barrier_left_out.cu:9, 16 threads, the first of them thread (0, 0, 0) of block (1, 0, 0)
//   ended   16 threads, the first of them thread (16, 0, 0) of block (1, 0, 0)
//   hint    move the barrier out of the branch, and return after it: all threads of a block must reach the same one
