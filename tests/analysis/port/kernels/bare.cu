// A kernel as a program has it, whose host code is elsewhere.
#include <stdio.h>

__global__ void scale_kernel(float* out, const float* __restrict__ x, const int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * factor;
}

__global__ void of_rows(float* out, const float* x, int columns, int rows) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column < columns && row < rows) out[row * columns + column] = x[row * columns + column];
}

template <class T>
__global__ void of_types(T* out, const T* x, int n) {
  out[threadIdx.x] = x[threadIdx.x];
}

int main() { printf("a program\n"); }
