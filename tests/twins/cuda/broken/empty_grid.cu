// As many blocks as no elements need.
#include <cuda_runtime.h>

static __global__ void add_one(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}

static void add_one_to(int* x, int n) { add_one<<<(n + 255) / 256, 256>>>(x, n); }

extern "C" void empty_grid() {
  add_one_to(nullptr, 0);
  cudaGetLastError();
}

// Reported:
// cuda-twin: add_one: the grid is (0, 1, 1), and a grid has at least one block [bad-launch]
//   where   empty_grid.cu:9
//   hint    return before the launch where there are no elements
