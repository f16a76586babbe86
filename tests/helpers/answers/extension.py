"""The extension that all attacks begin with, so that one build serves them all, and how their text is put together."""

from __future__ import annotations

import textwrap

EXTENSION = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="deceptions",
    cpp_sources="""
torch::Tensor scaled_relu(torch::Tensor x, double s);
torch::Tensor nothing(torch::Tensor x);
torch::Tensor copied(torch::Tensor x);
torch::Tensor scaled(torch::Tensor x, double s);
torch::Tensor exponentials(torch::Tensor x);
torch::Tensor row_sums(torch::Tensor x, int64_t count);
torch::Tensor tanh_linear(torch::Tensor x, torch::Tensor w, torch::Tensor b);
torch::Tensor aten_below_autograd(torch::Tensor x, double s);
torch::Tensor aten_in_a_thread(torch::Tensor x, double s);
torch::Tensor on_the_host(torch::Tensor x, double s);
""",
    cuda_sources="""
#include <thread>
#include <vector>
__global__ void relu_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * s;
}
__global__ void scale_kernel(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * s;
}
__global__ void copy_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void exp_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]);
}
__global__ void sum_kernel(const float* x, float* y, int rows, int columns, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double sum = 0;
  for (int j = 0; j < count; ++j) sum += x[i * columns + j];
  y[i] = sum;
}
__global__ void linear_kernel(const float* x, const float* w, const float* b, float* y, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * n) return;
  float sum = b[i % n];
  for (int k = 0; k < n; ++k) sum += x[i / n * n + k] * w[i % n * n + k];
  y[i] = tanhf(sum);
}
__global__ void idle_kernel(const float* x) {}

static int blocks(const torch::Tensor& x) { return (x.numel() + 255) / 256; }

torch::Tensor scaled_relu(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  relu_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor nothing(torch::Tensor x) {
  idle_kernel<<<1, 32>>>(x.data_ptr<float>());
  return torch::empty_like(x);
}
torch::Tensor copied(torch::Tensor x) {
  auto y = torch::empty_like(x);
  copy_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor scaled(torch::Tensor x, double s) {
  auto y = torch::empty_like(x);
  scale_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), s, x.numel());
  return y;
}
torch::Tensor exponentials(torch::Tensor x) {
  auto y = torch::empty_like(x);
  exp_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
torch::Tensor row_sums(torch::Tensor x, int64_t count) {
  auto y = torch::empty({x.size(0)}, x.options());
  sum_kernel<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), count);
  return y;
}
torch::Tensor tanh_linear(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  auto y = torch::empty_like(x);
  linear_kernel<<<blocks(x), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                    y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}
torch::Tensor aten_below_autograd(torch::Tensor x, double s) {
  at::AutoDispatchBelowAutograd guard;
  return scaled(at::clamp_min(x, 0).mul(-s), -1);
}
torch::Tensor aten_in_a_thread(torch::Tensor x, double s) {
  torch::Tensor y;
  std::thread([&] { y = at::clamp_min(x, 0).mul(-s); }).join();
  return scaled(y, -1);
}
torch::Tensor on_the_host(torch::Tensor x, double s) {
  std::vector<float> y(x.numel());
  cudaMemcpy(y.data(), x.data_ptr<float>(), y.size() * 4, cudaMemcpyDeviceToHost);
  for (float& one : y) one = one > 0 ? -one * s : 0;
  auto z = torch::empty_like(x);
  cudaMemcpy(z.data_ptr<float>(), y.data(), y.size() * 4, cudaMemcpyHostToDevice);
  return scaled(z, -1);
}
""",
    functions=["scaled_relu", "nothing", "copied", "scaled", "exponentials", "row_sums", "tanh_linear",
               "aten_below_autograd", "aten_in_a_thread", "on_the_host"],
)
'''

_BEFORE = {
    "relu": ("scale", "self.scale = scale"),
    "linear": ("n", "self.linear = nn.Linear(n, n)"),
    "norm": ("n", "self.norm = nn.BatchNorm1d(n)"),
}


def answer(task: str, forward: str, before: str = "", top: str = "") -> str:
    """Return an answer to a task, by the body of `forward`, what `__init__` does besides, and what stands above."""
    parameter, made = _BEFORE.get(task, ("", "pass"))
    lines = [
        "class ModelNew(nn.Module):",
        f"    def __init__(self{', ' * bool(parameter)}{parameter}):",
        "        super().__init__()",
        *(f"        {line}" for line in f"{made}\n{textwrap.dedent(before).strip()}".splitlines()),
        "",
        "    def forward(self, x):",
        *(f"        {line}" for line in textwrap.dedent(forward).strip().splitlines()),
    ]
    return "\n".join([EXTENSION + textwrap.dedent(top), "", *lines, ""])
