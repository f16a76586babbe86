// The column is out of its row, and so in the next row: still inside the array.
#include <cuda_runtime.h>

static __global__ void transpose(float* x) {
  __shared__ float tile[16][16];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
  __syncthreads();
  x[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + 1];
}

extern "C" void index_of_row() {
  float* x;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaMemset(x, 0, 256 * sizeof(float));
  transpose<<<1, dim3(16, 16)>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

// Reported:
// cuda-twin: transpose: index 16 is beyond the array of type 'float [16]' [index]
//   where   index_of_row.cu:8, thread (15, 15, 0) of block (0, 0, 0)
//   hint    keep the index below the array's size
