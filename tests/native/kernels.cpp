// The kernels that tests/native/test_core.py calls: one for each thing that NumpyOp has to hand over.
#include <opbridge/complex.h>
#include <opbridge/kernel.h>
#include <unistd.h>

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + T(float(alpha)) * y[i]; });
}
OB_KERNEL(scaled_add, float, double, ob::half, ob::bfloat16)

template <class T>
void copy(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i];
}
OB_KERNEL(copy, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, ob::half, ob::bfloat16,
          float, double, std::complex<float>, std::complex<double>)

// Reads the other end of x for each element of out: wrong at once where the two are one array.
void reversed(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[x.numel() - 1 - i];
}
OB_KERNEL(reversed)

void matmul(ob::In<float> x, ob::In<float> y, ob::Out<float> out) {
  for (int64_t i = 0; i < out.size(0); ++i) {
    for (int64_t j = 0; j < out.size(1); ++j) {
      float sum = 0;
      for (int64_t k = 0; k < x.size(1); ++k) sum += x(i, k) * y(k, j);
      out(i, j) = sum;
    }
  }
}
OB_KERNEL(matmul)

// How far the strides of x are apart, which says whether x came as it lies.
void strides_of(ob::In<float, ob::strided> x, ob::Out<int64_t> out) {
  for (int64_t i = 0; i < x.ndim(); ++i) out[i] = x.stride(i);
}
OB_KERNEL(strides_of)

void increment(ob::InOut<double> x, double by) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] += by;
}
OB_KERNEL(increment)

void add_into(ob::InOut<double> x, ob::In<double> y) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] += y[i];
}
OB_KERNEL(add_into)

void min_max(ob::In<double> x, ob::Out<double> low, ob::Out<double> high) {
  low[0] = high[0] = x[0];
  for (int64_t i = 1; i < x.numel(); ++i) {
    if (x[i] < low[0]) low[0] = x[i];
    if (x[i] > high[0]) high[0] = x[i];
  }
}
OB_KERNEL(min_max)

void sum_all(ob::List<ob::In<double>> xs, ob::Optional<ob::In<double>> bias, ob::Out<double> out) {
  for (int64_t i = 0; i < out.numel(); ++i) {
    out[i] = bias ? (*bias)[i] : 0;
    for (int64_t k = 0; k < xs.size(); ++k) out[i] += xs[k][i];
  }
}
OB_KERNEL(sum_all)

// Every kind of attribute, written out as numbers.
void attributes(ob::Out<double> out, int64_t i, double f, bool b, ob::Ints pair, ob::Floats floats, ob::String s,
                ob::Scalar number, ob::Optional<int64_t> maybe, ob::DType dtype) {
  out[0] = i;
  out[1] = f;
  out[2] = b;
  out[3] = pair[0] * 100 + pair[1];
  out[4] = floats.size();
  out[5] = s.size();
  out[6] = number.to<double>();
  out[7] = maybe ? *maybe : -1;
  out[8] = dtype.code;
}
OB_KERNEL(attributes)

void fails(ob::In<float> x) { OB_CHECK(x.numel() == 3, "x has ", x.numel(), " elements, three are wanted"); }
OB_KERNEL(fails)

void sleeps(ob::In<float>) { usleep(100000); }
OB_KERNEL(sleeps)

void scratches(int64_t size) { ob::scratch(static_cast<size_t>(size)); }
OB_KERNEL(scratches)

extern "C" __attribute__((visibility("default"))) int bare_copy(int nparam, void** params, int* ndims, int64_t** shapes,
                                                                const char**, void*, void*) {
  if (nparam != 2) return 7;
  int64_t n = 1;
  for (int i = 0; i < ndims[0]; ++i) n *= shapes[0][i];
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(params[1])[i] = static_cast<const float*>(params[0])[i];
  return 0;
}
