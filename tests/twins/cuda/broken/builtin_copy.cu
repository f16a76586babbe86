// The compiler's own function copies twelve bytes without a call; there is one element too few to copy to.
#include <cuda_runtime.h>

struct Triple {
  char packed[12];
};

static __global__ void scatter_by_builtin(const Triple* from, Triple* to) {
  __builtin_memcpy(&to[threadIdx.x + 1], &from[threadIdx.x], sizeof(Triple));
}

extern "C" void builtin_copy() {
  Triple *from, *to;
  cudaMalloc(&from, 4 * sizeof(Triple));
  cudaMalloc(&to, 4 * sizeof(Triple));
  cudaMemset(from, 0, 4 * sizeof(Triple));
  scatter_by_builtin<<<1, 4>>>(from, to);
  cudaDeviceSynchronize();
  cudaFree(from);
  cudaFree(to);
}

// Reported:
// cuda-twin: scatter_by_builtin: write of 12 bytes out of bounds [out-of-bounds]
//   where   builtin_copy.cu:9, thread (3, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes after the end of the 48 bytes that cudaMalloc gave at builtin_copy.cu:15
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
