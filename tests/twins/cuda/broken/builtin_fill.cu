// The same of a fill, by a macro and in a function that may be computed by the compiler.
#include <cuda_runtime.h>

#define CLEAR(element) __builtin_memset(&(element), 0, sizeof(element))

struct Seven {
  char packed[7];
};

static __device__ constexpr void clear_one(Seven* to) { CLEAR(*to); }

static __global__ void clear_all(Seven* to) { clear_one(to + threadIdx.x); }

extern "C" void builtin_fill() {
  Seven* to;
  cudaMalloc(&to, 4 * sizeof(Seven));
  clear_all<<<1, 5>>>(to);
  cudaDeviceSynchronize();
  cudaFree(to);
}

// Reported:
// cuda-twin: clear_all: write of 7 bytes out of bounds [out-of-bounds]
//   where   builtin_fill.cu:10, thread (4, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes after the end of the 28 bytes that cudaMalloc gave at builtin_fill.cu:16
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
