// The same addition as a function with the plain C call, which includes nothing of opbridge's.
#include <stdint.h>

__global__ void add_each(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}

extern "C" int bare_add(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                        void* extra) {
  int64_t n = 1;
  for (int i = 0; i < ndims[2]; ++i) n *= shapes[2][i];
  if (n == 0) return 0;
  const float *x = static_cast<float*>(params[0]), *y = static_cast<float*>(params[1]);
  add_each<<<static_cast<unsigned>((n + 255) / 256), 256, 0, static_cast<cudaStream_t>(stream)>>>(
      x, y, static_cast<float*>(params[2]), n);
  return cudaGetLastError();
}
