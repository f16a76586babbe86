// Bare aot functions for three-element tests and for much larger ones.
#include <stdint.h>

constexpr int kThreads = 128;

__global__ void multiply(const float* x, const float* y, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i < n) out[i] = x[i] * y[i];
}

__global__ void multiply_backward(const float* grad, const float* x, const float* y, float* dx, float* dy, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= n) return;
  dx[i] = grad[i] * y[i];
  dy[i] = grad[i] * x[i];
}

static int64_t count(int ndim, const int64_t* shape) {
  int64_t n = 1;
  for (int i = 0; i < ndim; ++i) n *= shape[i];
  return n;
}

static unsigned blocks(int64_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

static float* floats(void* param) { return static_cast<float*>(param); }

extern "C" int product(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                       void* extra) {
  const int64_t n = count(ndims[0], shapes[0]);
  if (n == 0) return 0;
  multiply<<<blocks(n), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(floats(params[0]), floats(params[1]),
                                                                          floats(params[2]), n);
  return cudaGetLastError();
}

extern "C" int product_backward(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes,
                                void* stream, void* extra) {
  const int64_t n = count(ndims[0], shapes[0]);
  if (n == 0) return 0;
  multiply_backward<<<blocks(n), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      floats(params[0]), floats(params[1]), floats(params[2]), floats(params[3]), floats(params[4]), n);
  return cudaGetLastError();
}
