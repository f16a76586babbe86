// Computes the softmax of a row in one block: two reductions in shared memory, each with warp shuffles at its end.
#include <float.h>
#include <stdint.h>

namespace {

constexpr int kThreads = 128;

struct Larger {
  static constexpr float first = -FLT_MAX;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  static constexpr float first = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Combine>
__device__ float of_block(float value, Combine combine) {
  __shared__ float of_warps[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffff, value, step));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = Combine::first;
  for (float one : of_warps) value = combine(value, one);
  // Without this barrier, the next call would overwrite values that other threads still read.
  __syncthreads();
  return value;
}

__global__ void softmax_of_row(const float* x, float* out, int64_t columns) {
  const float* row = x + blockIdx.x * columns;
  float* result = out + blockIdx.x * columns;
  float largest = Larger::first;
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) largest = fmaxf(largest, row[i]);
  largest = of_block(largest, Larger());
  float total = 0;
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) total += expf(row[i] - largest);
  total = of_block(total, Sum());
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) result[i] = expf(row[i] - largest) / total;
}

// grad_x = out * (grad - sum(grad * out))
__global__ void softmax_of_row_backward(const float* grad, const float* out, float* grad_x, int64_t columns) {
  const int64_t row = blockIdx.x * columns;
  float dot = 0;
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) dot += grad[row + i] * out[row + i];
  dot = of_block(dot, Sum());
  for (int64_t i = threadIdx.x; i < columns; i += kThreads) grad_x[row + i] = out[row + i] * (grad[row + i] - dot);
}

}  // namespace

extern "C" int softmax(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                       void* extra) {
  const int64_t rows = shapes[0][0], columns = shapes[0][1];
  if (rows * columns == 0) return 0;
  softmax_of_row<<<rows, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float*>(params[0]),
                                                                           static_cast<float*>(params[1]), columns);
  return cudaGetLastError();
}

extern "C" int softmax_backward(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                                void* stream, void* extra) {
  const int64_t rows = shapes[0][0], columns = shapes[0][1];
  if (rows * columns == 0) return 0;
  softmax_of_row_backward<<<rows, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float*>(params[0]), static_cast<float*>(params[1]), static_cast<float*>(params[2]), columns);
  return cudaGetLastError();
}
