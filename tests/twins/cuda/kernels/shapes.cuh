// A header of the user's: device code that is included needs rewriting too.
#pragma once

#include <cuda_runtime.h>

constexpr int kWidth = 32;

extern __shared__ int shared_of_header[];

__device__ inline int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A __shared__ variable of a device function, and one declared outside of all functions.
__device__ inline int reversed_in_block(int value) {
  __shared__ int values[1024];
  values[threadIdx.x] = value;
  shared_of_header[threadIdx.x] = value;
  __syncthreads();
  const int last = blockDim.x - 1 - threadIdx.x;
  return values[last] == shared_of_header[last] ? values[last] : -1;
}

template <class T>
__global__ void fill(T* out, int n, T value = T(7)) {
  const int i = global_index();
  if (i < n) out[i] = value;
}
