// The array ends in the middle of a word, whose other bytes nobody has asked for.
#include <cuda_runtime.h>

static __global__ void invert(unsigned char* flags, int n) {
  if (threadIdx.x <= n) flags[threadIdx.x] = !flags[threadIdx.x];
}

extern "C" void one_byte_more() {
  unsigned char* flags;
  cudaMalloc(&flags, 5);
  cudaMemset(flags, 0, 5);
  invert<<<1, 32>>>(flags, 5);
  cudaDeviceSynchronize();
  cudaFree(flags);
}

// Reported:
// cuda-twin: invert: read of 1 byte out of bounds [out-of-bounds]
//   where   one_byte_more.cu:5, thread (5, 0, 0) of block (0, 0, 0)
//   address 0x…, 0 bytes after the end of the 5 bytes that cudaMalloc gave at one_byte_more.cu:10
//   hint    guard the access with `i < n`: a grid usually has more threads than elements
