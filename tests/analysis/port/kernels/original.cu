// Kernels as a project for CUDA has them; their ports, right and wrong ones, stand in port.cpp.
#include <opbridge/kernel.h>

template <class T>
__global__ void scale_kernel(const T* x, T* out, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * T(factor);
}

template <class T>
void scale(ob::In<T> x, ob::Out<T> out, double factor) {
  const int n = static_cast<int>(x.numel());
  if (n > 0) scale_kernel<<<(n + 127) / 128, 128>>>(x.data(), out.data(), n, float(factor));
}
OB_KERNEL(scale, float, double)

__global__ void add_row_kernel(const float* x, const float* row, float* out, int rows, int columns) {
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) out[i] = x[i] + row[i % columns];
}

void add_row(ob::In<float> x, ob::In<float> row, ob::Out<float> out) {
  OB_CHECK(x.ndim() == 2 && row.ndim() == 1 && row.size(0) == x.size(1), "expected a matrix and a row of it");
  add_row_kernel<<<1, 64>>>(x.data(), row.data(), out.data(), x.size(0), x.size(1));
}
OB_KERNEL(add_row)

__global__ void overrun_kernel(const float* x, float* out, int n) {
  for (int i = 0; i <= n; ++i) out[i] = x[i];
}

void overrun(ob::In<float> x, ob::Out<float> out) { overrun_kernel<<<1, 1>>>(x.data(), out.data(), x.numel()); }
OB_KERNEL(overrun)

void stops(ob::In<float> x, ob::Out<float> out) {
  const int n = static_cast<int>(x.numel());
  if (n > 0) scale_kernel<<<(n + 127) / 128, 128>>>(x.data(), out.data(), n, 1.0f);
}
OB_KERNEL(stops)

void copy(ob::In<float> x, ob::Out<float> out) {
  const int n = static_cast<int>(x.numel());
  if (n > 0) scale_kernel<<<(n + 127) / 128, 128>>>(x.data(), out.data(), n, 1.0f);
}
OB_KERNEL(copy)
