"""A CUDA program by opbridge twin nvcc."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
#include <cstdio>
__global__ void squares(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = i * i;
}
int main() {
  int* values;
  cudaMallocManaged(&values, 1000 * sizeof(int));
  squares<<<4, 256>>>(values, 1000);
  cudaDeviceSynchronize();
  printf("%d\\n", values[999]);
  cudaFree(values);
}
"""

Path("squares.cu").write_text(PROGRAM)
subprocess.run([sys.executable, "-m", "opbridge", "twin", "nvcc", "squares.cu", "-o", "squares"], check=True)
assert subprocess.run(["./squares"], check=True, capture_output=True, text=True).stdout == "998001\n"
