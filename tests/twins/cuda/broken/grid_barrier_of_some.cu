// Every second block never comes to the barrier of the grid.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

static __global__ void shift_in_some(int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x % 2 == 0) {
    const int next = x[(i + 2) % 64];
    cooperative_groups::this_grid().sync();
    x[i] = next;
  }
}

extern "C" void grid_barrier_of_some() {
  int* x;
  cudaMalloc(&x, 128 * sizeof(int));
  cudaMemset(x, 0, 128 * sizeof(int));
  void* arguments[] = {&x};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(shift_in_some), dim3(4), dim3(32), arguments, 0, nullptr);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: shift_in_some: some threads wait at a barrier, which other blocks of the grid never reach [divergent-barrier]
//   where   grid_barrier_of_some.cu:9, 32 threads, the first of them thread (0, 0, 0) of block (0, 0, 0)
//   hint    move the barrier out of the branch, and return after it: all threads of a block must reach the same one
