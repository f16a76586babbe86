"""A verdict of opbridge judge over a CUDA answer."""

import subprocess
import sys
from pathlib import Path

REFERENCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.rand(16, 2048)]
def get_init_inputs():
    return []
"""
ANSWER = '''
import torch
from torch.utils.cpp_extension import load_inline
extension = load_inline(
    name="relu",
    cpp_sources="torch::Tensor relu(torch::Tensor x);",
    cuda_sources="""
__global__ void kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
""",
    functions=["relu"],
)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
'''

Path("reference.py").write_text(REFERENCE)
Path("answer.py").write_text(ANSWER)
subprocess.run([sys.executable, "-m", "opbridge", "judge", "reference.py", "answer.py"], check=True)
