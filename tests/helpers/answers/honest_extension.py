"""The extension that all honest answers begin with."""

from __future__ import annotations

EXTENSION = '''
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="honest",
    cpp_sources="""
torch::Tensor relu_of(torch::Tensor x, double s);
std::tuple<torch::Tensor, double> relu_timed(torch::Tensor x, double s);
void relu_into(torch::Tensor x, torch::Tensor y, double s);
torch::Tensor relu_by_fours(torch::Tensor x, double s);
torch::Tensor relu_on_a_stream(torch::Tensor x, double s);
torch::Tensor relu_in_turns(torch::Tensor x, double s);
torch::Tensor relu_half(torch::Tensor x);
torch::Tensor product_of(torch::Tensor a, torch::Tensor b);
torch::Tensor product_by_tiles(torch::Tensor a);
torch::Tensor tanh_of(torch::Tensor x, torch::Tensor b);
torch::Tensor sums(torch::Tensor x);
torch::Tensor sums_by_warps(torch::Tensor x);
torch::Tensor sums_by_groups(torch::Tensor x);
torch::Tensor softmax_of(torch::Tensor x);
torch::Tensor scaled_rows(torch::Tensor d, torch::Tensor a);
std::vector<torch::Tensor> both(torch::Tensor x);
torch::Tensor norm_of(torch::Tensor x, torch::Tensor m, torch::Tensor v, torch::Tensor w, torch::Tensor b);
""",
    cuda_sources="""
#include <chrono>
#include <ATen/cuda/CUDAContext.h>
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

template <typename T, int kPer> __global__ void relu_kernel(const T* x, T* y, float s, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPer;
#pragma unroll
  for (int i = first; i < first + kPer; ++i)
    if (i < n) y[i] = T(fmaxf(float(x[i]), 0.0f) * s);
}
__global__ void half_kernel(const __half* x, __half* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = __hmul(__hmax(x[i], __float2half(0.0f)), __float2half(3.0f));
}
__global__ void both_kernel(const float* x, float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f), z[i] = fmaxf(-x[i], 0.0f);
}
__global__ void tiles_kernel(const float* a, float* c, int n) {
  __shared__ float p[16][16], q[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < n; at += 16) {
    const int k = at + threadIdx.x, l = at + threadIdx.y;
    p[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0;
    q[threadIdx.y][threadIdx.x] = l < n && column < n ? a[l * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += p[threadIdx.y][i] * q[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}
__global__ void tanh_kernel(const float* x, const float* b, float* y, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * n) y[i] = tanhf(x[i] + b[i % n]);
}
__global__ void sums_kernel(const float* x, float* y, int n) {
  __shared__ float part[128];
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 128) sum += x[blockIdx.x * n + j];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
__global__ void warps_kernel(const float* x, float* y, int n) {
  float sum = 0;
  for (int j = threadIdx.x; j < n; j += 32) sum += x[blockIdx.x * n + j];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x == 0) atomicAdd(&y[blockIdx.x], sum);
}
__global__ void groups_kernel(const float* x, float* y, int n) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float sum = 0;
  for (int j = tile.thread_rank(); j < n; j += tile.size()) sum += x[blockIdx.x * n + j];
  for (int step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (tile.thread_rank() == 0) y[blockIdx.x] = sum;
}
__global__ void most_kernel(const float* x, float* m, float* z, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float most = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j) {
    const float next = fmaxf(most, x[i * n + j]);
    sum = sum * expf(most - next) + expf(x[i * n + j] - next);
    most = next;
  }
  m[i] = most, z[i] = sum;
}
__global__ void divide_kernel(const float* x, const float* m, const float* z, float* y, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * n) y[i] = expf(x[i] - m[i / n]) / z[i / n];
}
__global__ void rows_kernel(const float* d, const float* a, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * n) y[i] = d[i / n] * a[i];
}
__global__ void norm_kernel(const float* x, const float* m, const float* v, const float* w, const float* b, float* y,
                            int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * n) y[i] = fmaxf((x[i] - m[i % n]) * rsqrtf(v[i % n] + 1e-5f) * w[i % n] + b[i % n], 0.0f);
}

static int blocks(const torch::Tensor& x, int per = 1) { return (x.numel() + 256 * per - 1) / (256 * per); }

void relu_into(torch::Tensor x, torch::Tensor y, double s) {
  relu_kernel<float, 1><<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
}
torch::Tensor relu_of(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  relu_into(x, y, s);
  return y;
}
std::tuple<torch::Tensor, double> relu_timed(torch::Tensor x, double s) {
  const auto start = std::chrono::steady_clock::now();
  auto y = relu_of(x, s);
  cudaDeviceSynchronize();
  return {y, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}
torch::Tensor relu_by_fours(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  relu_kernel<float, 4><<<blocks(x, 4), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor relu_on_a_stream(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  cudaStream_t other;
  cudaEvent_t before, after;
  cudaStreamCreate(&other);
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  const auto own = at::cuda::getCurrentCUDAStream();
  cudaEventRecord(before, own);
  cudaStreamWaitEvent(other, before, 0);
  relu_kernel<float, 1><<<blocks(x), 256, 0, other>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  cudaEventRecord(after, other);
  cudaStreamWaitEvent(own, after, 0);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  cudaStreamDestroy(other);
  return y;
}
torch::Tensor relu_in_turns(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  relu_kernel<float, 1><<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1, x.numel());
  relu_kernel<float, 2><<<blocks(x, 2), 256>>>(y.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor relu_half(torch::Tensor x) {
  auto h = x.to(torch::kHalf);
  auto y = torch::empty_like(h);
  half_kernel<<<4, 128>>>(reinterpret_cast<const __half*>(h.data_ptr<at::Half>()),
                          reinterpret_cast<__half*>(y.data_ptr<at::Half>()), h.numel());
  return y;
}
torch::Tensor product_of(torch::Tensor a, torch::Tensor b) {  // a * b', by rows
  auto c = torch::empty({a.size(0), b.size(0)}, a.options());
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, b.size(0), a.size(0), a.size(1), &one, b.data_ptr<float>(), b.size(1),
              a.data_ptr<float>(), a.size(1), &zero, c.data_ptr<float>(), b.size(0));
  cublasDestroy(handle);
  return c;
}
torch::Tensor product_by_tiles(torch::Tensor a) {
  auto c = torch::empty_like(a);
  const int n = a.size(0), tiles = (n + 15) / 16;
  tiles_kernel<<<dim3(tiles, tiles), dim3(16, 16)>>>(a.data_ptr<float>(), c.data_ptr<float>(), n);
  return c;
}
torch::Tensor tanh_of(torch::Tensor x, torch::Tensor b) {
  auto y = torch::empty_like(x);
  tanh_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
torch::Tensor sums(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  sums_kernel<<<x.size(0), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
torch::Tensor sums_by_warps(torch::Tensor x) {
  auto y = torch::zeros({x.size(0)}, x.options());
  warps_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
torch::Tensor sums_by_groups(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  groups_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
torch::Tensor softmax_of(torch::Tensor x) {
  auto y = torch::empty_like(x), m = torch::empty({x.size(0)}, x.options()), z = torch::empty_like(m);
  const int rows = x.size(0), n = x.size(1);
  most_kernel<<<(rows + 31) / 32, 32>>>(x.data_ptr<float>(), m.data_ptr<float>(), z.data_ptr<float>(), rows, n);
  divide_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), m.data_ptr<float>(), z.data_ptr<float>(), y.data_ptr<float>(),
                                    rows, n);
  return y;
}
torch::Tensor scaled_rows(torch::Tensor d, torch::Tensor a) {
  auto y = torch::empty_like(a);
  rows_kernel<<<blocks(a), 256>>>(d.data_ptr<float>(), a.data_ptr<float>(), y.data_ptr<float>(), a.size(0));
  return y;
}
std::vector<torch::Tensor> both(torch::Tensor x) {
  auto y = torch::empty_like(x), z = torch::empty_like(x);
  both_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.numel());
  return {y, z};
}
torch::Tensor norm_of(torch::Tensor x, torch::Tensor m, torch::Tensor v, torch::Tensor w, torch::Tensor b) {
  auto y = torch::empty_like(x);
  norm_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), w.data_ptr<float>(),
                                  b.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
""",
    functions=["relu_of", "relu_timed", "relu_into", "relu_by_fours", "relu_on_a_stream", "relu_in_turns",
               "relu_half", "product_of", "product_by_tiles", "tanh_of", "sums", "sums_by_warps", "sums_by_groups",
               "softmax_of", "scaled_rows", "both", "norm_of"],
)
'''
