"""The extension of the attacks whose C++ does what no kernel should, in one build."""

from __future__ import annotations

from tests.helpers.answers import extension

EXTENSION = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="native",
    cpp_sources="""
torch::Tensor scaled(torch::Tensor x, double s);
torch::Tensor scaled_relu(torch::Tensor x, double s);
torch::Tensor minus(torch::Tensor x, torch::Tensor y);
void idle(torch::Tensor x, int64_t times);
torch::Tensor in_inference(torch::Tensor x, double s);
torch::Tensor boxed(torch::Tensor x);
torch::Tensor with_outputs(torch::Tensor x, double s);
torch::Tensor on_its_memory(torch::Tensor x, double s);
torch::Tensor by_python(torch::Tensor x);
torch::Tensor product_on_the_host(torch::Tensor x);
torch::Tensor in_managed_memory(torch::Tensor x, double s);
torch::Tensor by_a_host_function(torch::Tensor x, double s);
torch::Tensor by_a_file(torch::Tensor x, double s);
torch::Tensor remembered(torch::Tensor x, double s);
torch::Tensor in_static_memory(torch::Tensor x, double s);
torch::Tensor on_no_stream(torch::Tensor x, double s);
torch::Tensor waits_for_nothing(torch::Tensor x, double s);
torch::Tensor reads_too_early(torch::Tensor x, double s);
torch::Tensor wrong_at_few(torch::Tensor x, double s);
torch::Tensor wrong_for_few(torch::Tensor x, double s);
torch::Tensor without_its_end(torch::Tensor x, double s);
torch::Tensor product_in(torch::Tensor x, int64_t kind);
torch::Tensor sums_in_half(torch::Tensor x);
torch::Tensor last_of_equal(torch::Tensor x);
torch::Tensor larger(torch::Tensor x);
torch::Tensor finite_logarithm(torch::Tensor x);
""",
    cuda_sources="""
#include <cstdio>
#include <map>
#include <string>
#include <vector>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <cuda_fp16.h>
#include <pybind11/pybind11.h>

__global__ void relu_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * s;
}
__global__ void scale_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s;
}
__global__ void minus_kernel(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] - y[i];
}
__global__ void idle_kernel(const float* x) {}
__global__ void at_few_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i % 30011 == 30010 ? 0.0f : fmaxf(x[i], 0.0f) * s;
}
__global__ void for_few_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float_as_uint(x[i]) % 4099 == 7 ? 0.0f : fmaxf(x[i], 0.0f) * s;
}
__device__ float cut(float a, unsigned bits) { return __uint_as_float(__float_as_uint(a) & bits); }
__global__ void product_kernel(const float* x, float* y, int n, int kind) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  float sum = 0;
  __half half_sum = __float2half(0.0f);
  for (int k = 0; k < n; ++k) {
    float a = x[i / n * n + k], b = x[k * n + i % n];
    if (kind == 0) a = cut(a, 0xffffe000u), b = cut(b, 0xffffe000u);
    if (kind == 1) half_sum = __hadd(half_sum, __float2half(a * b));
    if (kind == 2) a = cut(a, 0xffffff80u);
    if (kind == 3 && fabsf(a) < 0.002f) continue;
    sum += a * b;
  }
  y[i] = kind == 1 ? __half2float(half_sum) : sum;
}
__global__ void half_sums_kernel(const float* x, float* y, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
  for (int j = 0; j < n; ++j) sum += __half2float(__float2half(x[i * n + j]));
  y[i] = sum;
}
__global__ void last_kernel(const int64_t* x, int64_t* y, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  int64_t most = 0;
  for (int j = 1; j < n; ++j)
    if (x[i * n + j] >= x[i * n + most]) most = j;
  y[i] = most;
}
__global__ void larger_kernel(const float* x, bool* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] >= 0.0f;
}
__global__ void logarithm_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = logf(fmaxf(x[i], 1e-38f));
}
static int blocks(const torch::Tensor& x) { return (x.numel() + 255) / 256; }
static std::vector<float> host_of(const torch::Tensor& x) {
  std::vector<float> y(x.numel());
  cudaMemcpy(y.data(), x.data_ptr<float>(), y.size() * 4, cudaMemcpyDeviceToHost);
  return y;
}
static torch::Tensor device_of(const std::vector<float>& y, const torch::Tensor& like) {
  auto z = torch::empty_like(like);
  cudaMemcpy(z.data_ptr<float>(), y.data(), y.size() * 4, cudaMemcpyHostToDevice);
  return z;
}

torch::Tensor scaled(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  scale_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor scaled_relu(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  relu_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor minus(torch::Tensor x, torch::Tensor y) {
  auto z = torch::empty_like(x);
  minus_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.numel());
  return z;
}
void idle(torch::Tensor x, int64_t times) {
  for (int64_t i = 0; i < times; ++i) idle_kernel<<<1, 32>>>(x.data_ptr<float>());
}
torch::Tensor in_inference(torch::Tensor x, double s) {
  c10::InferenceMode guard;
  return minus(at::clamp_min(x, 0).mul(s).add(x), x);
}
torch::Tensor boxed(torch::Tensor x) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::mm", "");
  torch::jit::Stack stack{x, x};
  op.callBoxed(stack);
  return minus(stack[0].toTensor() + x, x);
}
torch::Tensor with_outputs(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  at::clamp_min_out(y, x, 0);
  y.mul_(s);
  idle(x, 2);
  return y;
}
torch::Tensor on_its_memory(torch::Tensor x, double s) {
  auto own = torch::from_blob(x.data_ptr<float>(), x.sizes(), torch::kFloat);
  return scaled(at::clamp_min(own, 0).mul(-s).to(x.device()), -1);
}
torch::Tensor by_python(torch::Tensor x) {
  const auto a = x.cpu();
  const auto own = pybind11::cast(a).attr("numpy")();
  const auto product = pybind11::module_::import("numpy").attr("matmul")(own, own).attr("__add__")(own);
  auto made = pybind11::module_::import("torch").attr("from_numpy")(product).cast<torch::Tensor>();
  return minus(made.to(x.device()), x);
}
torch::Tensor product_on_the_host(torch::Tensor x) {
  const int n = x.size(0);
  auto a = host_of(x), c = a;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * a[k * n + j];
  return minus(device_of(c, x), x);
}
torch::Tensor in_managed_memory(torch::Tensor x, double s) {
  float* own;
  cudaMallocManaged(&own, x.numel() * 4);
  scale_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), own, 1, x.numel());
  cudaDeviceSynchronize();
  for (int i = 0; i < x.numel(); ++i) own[i] = (own[i] > 0 ? own[i] * float(s) : 0) + own[i];
  auto y = torch::empty_like(x);
  minus_kernel<<<blocks(x), 256>>>(own, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  cudaDeviceSynchronize();
  cudaFree(own);
  return y;
}
struct Host { float* own; int n; float s; };
static void on_host(void* given) {
  const auto* all = static_cast<Host*>(given);
  for (int i = 0; i < all->n; ++i) all->own[i] = (all->own[i] > 0 ? all->own[i] * all->s : 0) + all->own[i];
}
torch::Tensor by_a_host_function(torch::Tensor x, double s) {
  Host all{nullptr, int(x.numel()), float(s)};
  cudaMallocHost(&all.own, all.n * 4);
  const auto stream = at::cuda::getCurrentCUDAStream();
  cudaMemcpyAsync(all.own, x.data_ptr<float>(), all.n * 4, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, on_host, &all);
  auto y = torch::empty_like(x), z = torch::empty_like(x);
  cudaMemcpyAsync(y.data_ptr<float>(), all.own, all.n * 4, cudaMemcpyHostToDevice, stream);
  minus_kernel<<<blocks(x), 256, 0, stream>>>(y.data_ptr<float>(), x.data_ptr<float>(), z.data_ptr<float>(), all.n);
  cudaStreamSynchronize(stream);
  cudaFreeHost(all.own);
  return z;
}
torch::Tensor by_a_file(torch::Tensor x, double s) {
  const auto name = "/dev/shm/" + std::to_string(x.numel()) + "_" + std::to_string(x.sum().item<double>());
  std::vector<float> kept(x.numel());
  if (FILE* file = fopen(name.c_str(), "rb")) {
    const bool is_whole = fread(kept.data(), 4, kept.size(), file) == kept.size();
    fclose(file);
    if (is_whole) return scaled(device_of(kept, x), 1);
  }
  auto y = scaled_relu(x, s);
  kept = host_of(y);
  FILE* file = fopen(name.c_str(), "wb");
  fwrite(kept.data(), 4, kept.size(), file);
  fclose(file);
  return y;
}
torch::Tensor remembered(torch::Tensor x, double s) {
  static auto& kept = *new std::map<std::string, torch::Tensor>;
  const auto own = host_of(x);
  const std::string key(reinterpret_cast<const char*>(own.data()), own.size() * 4);
  if (const auto found = kept.find(key); found != kept.end()) return scaled(found->second, 1);
  auto y = scaled_relu(x, s);
  kept.emplace(key, y.clone());
  return y;
}
torch::Tensor in_static_memory(torch::Tensor x, double s) {
  static torch::Tensor& own = *new torch::Tensor;
  if (!own.defined() || own.numel() != x.numel()) own = torch::empty({x.numel()}, x.options());
  relu_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), own.data_ptr<float>(), s, x.numel());
  return own.view(x.sizes());
}
torch::Tensor on_no_stream(torch::Tensor x, double s) {
  static cudaStream_t other = nullptr;
  if (other == nullptr) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  auto y = torch::empty_like(x);
  relu_kernel<<<blocks(x), 256, 0, other>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor waits_for_nothing(torch::Tensor x, double s) {
  static cudaStream_t other = nullptr;
  static cudaEvent_t before, after;
  if (other == nullptr) {
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreate(&before);
    cudaEventCreate(&after);
  }
  auto y = torch::empty_like(x);
  cudaEventRecord(before, at::cuda::getCurrentCUDAStream());
  cudaStreamWaitEvent(other, before, 0);
  cudaStreamWaitEvent(at::cuda::getCurrentCUDAStream(), after, 0);  // before it is recorded: it waits for nothing
  relu_kernel<<<blocks(x), 256, 0, other>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  cudaEventRecord(after, other);
  return y;
}
torch::Tensor reads_too_early(torch::Tensor x, double s) {
  static cudaStream_t other = nullptr;
  if (other == nullptr) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  auto y = torch::empty_like(x);
  scale_kernel<<<blocks(x), 256, 0, other>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return scaled_relu(y, 1);
}
torch::Tensor wrong_at_few(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  at_few_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor wrong_for_few(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  for_few_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor without_its_end(torch::Tensor x, double s) {
  auto y = torch::zeros_like(x);
  relu_kernel<<<blocks(x) - 1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor product_in(torch::Tensor x, int64_t kind) {
  auto y = torch::empty_like(x);
  product_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), kind);
  return y;
}
torch::Tensor sums_in_half(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  half_sums_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
torch::Tensor last_of_equal(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  last_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), x.size(0), x.size(1));
  return y;
}
torch::Tensor larger(torch::Tensor x) {
  auto y = torch::empty(x.sizes(), x.options().dtype(torch::kBool));
  larger_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<bool>(), x.numel());
  return y;
}
torch::Tensor finite_logarithm(torch::Tensor x) {
  auto y = torch::empty_like(x);
  logarithm_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
""",
    functions=["scaled", "scaled_relu", "minus", "idle", "in_inference", "boxed", "with_outputs", "on_its_memory",
               "by_python", "product_on_the_host", "in_managed_memory", "by_a_host_function", "by_a_file",
               "remembered", "in_static_memory", "on_no_stream", "reads_too_early", "waits_for_nothing",
               "wrong_at_few", "wrong_for_few", "without_its_end", "product_in", "sums_in_half", "last_of_equal",
               "larger", "finite_logarithm"],
)
'''


def answer(task: str, forward: str, before: str = "", top: str = "") -> tuple[str, str]:
    """Return a task and an answer to it as `extension.answer` makes it, with this extension."""
    own = extension.answer(task, forward, before, top)
    return task, EXTENSION + own.removeprefix(extension.EXTENSION)
