"""An operator from CUDA by the twin, in NumPy."""

import numpy

import opbridge as ob

TEXT = """
#include <stdint.h>
__global__ void halve(const float* x, float* y, long n) {
  const long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 2;
}
extern "C" int halved(int, void** params, int*, int64_t** shapes, const char**, void* stream, void*) {
  const long n = shapes[0][0];
  halve<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((float*)params[0], (float*)params[1], n);
  return cudaGetLastError();
}
"""

halved = ob.inline(TEXT, schema="first::halved(Tensor x) -> Tensor", out="x", device="cuda-twin")
assert halved(numpy.ones(4, numpy.float32)).tolist() == [0.5] * 4
