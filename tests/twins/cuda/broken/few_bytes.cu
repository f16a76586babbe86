// Elements of twelve bytes, by a copy that compilers need no call for; there is one element too few to copy to.
#include <cuda_runtime.h>

struct Point {
  char packed[12];
};

static __global__ void scatter(const Point* from, Point* to) {
  memcpy(&to[threadIdx.x + 1], &from[threadIdx.x], sizeof(Point));
}

extern "C" void few_bytes() {
  Point *from, *to;
  cudaMalloc(&from, 4 * sizeof(Point));
  cudaMalloc(&to, 4 * sizeof(Point));
  cudaMemset(from, 0, 4 * sizeof(Point));
  scatter<<<1, 4>>>(from, to);
  cudaDeviceSynchronize();
  cudaFree(from);
  cudaFree(to);
}

// Reported:
// cuda-twin: scatter: write of 12 bytes out of bounds [out-of-bounds]
//   where   few_bytes.cu:9, thread (3, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes after the end of the 48 bytes that cudaMalloc gave at few_bytes.cu:15
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
