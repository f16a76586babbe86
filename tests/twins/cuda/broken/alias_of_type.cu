// An element too many, in a kernel for a type that compilers spell out beside the template's own.
#include <cuda_runtime.h>

template <class T>
using Row = T*;

template <class T>
static __global__ void negate(Row<T> x) {
  x[threadIdx.x] = -x[threadIdx.x];
}

extern "C" void alias_of_type() {
  float* x;
  cudaMalloc(&x, 100 * sizeof(float));
  cudaMemset(x, 0, 100 * sizeof(float));
  negate<float><<<1, 101>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: negate [with T = float]: read of 4 bytes out of bounds [out-of-bounds]
//   where   alias_of_type.cu:9, thread (100, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes after the end of the 400 bytes that cudaMalloc gave at alias_of_type.cu:14
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
