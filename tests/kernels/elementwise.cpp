// Kernels that treat every element alone.
#include <opbridge/complex.h>
#include <opbridge/kernel.h>

#include <cmath>

using c64 = std::complex<float>;
using c128 = std::complex<double>;

template <class T>
void identity(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i]; });
}
OB_KERNEL(identity, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, ob::half,
          ob::bfloat16, float, double, c64, c128)

template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add, ob::half, ob::bfloat16, float, double, c64, c128)

// Multiplies without broadcasting.
template <class T>
void product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  OB_CHECK(x.shape() == y.shape(), "product: shapes differ, ", x.shape(), " and ", y.shape());
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] * y[i]; });
}
OB_KERNEL(product, float, double, c64, c128)

// The gradients of product, for those who want one kernel for both.
template <class T>
void product_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> y, ob::Out<T> grad_x, ob::Out<T> grad_y) {
  ob::parallel_for(grad.numel(), [&](int64_t i) {
    grad_x[i] = grad[i] * y[i];
    grad_y[i] = grad[i] * x[i];
  });
}
OB_KERNEL(product_backward, float, double)

template <class T>
void square(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] * x[i]; });
}
OB_KERNEL(square, float, double)

template <class T>
void square_backward(ob::In<T> grad, ob::In<T> x, ob::Out<T> grad_x) {
  ob::parallel_for(grad.numel(), [&](int64_t i) { grad_x[i] = T(2) * grad[i] * x[i]; });
}
OB_KERNEL(square_backward, float, double)

template <class T>
void sine_cosine(ob::In<T> x, ob::Out<T> sine, ob::Out<T> cosine) {
  ob::parallel_for(x.numel(), [&](int64_t i) {
    sine[i] = std::sin(x[i]);
    cosine[i] = std::cos(x[i]);
  });
}
OB_KERNEL(sine_cosine, float, double)

template <class T>
void exponential(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(x.numel(), [&](int64_t i) { out[i] = std::exp(x[i]); });
}
OB_KERNEL(exponential, float, double, c128)

// The kernels of one in-place operator and of one with an `out` argument.
template <class T>
void scaled_add_(ob::InOut<T> x, ob::In<T> y, double alpha) {
  ob::parallel_for(x.numel(), [&](int64_t i) { x[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add_, float, double)

template <class T>
void scaled_add_out(ob::In<T> x, ob::In<T> y, ob::InOut<T> out, double alpha) {
  ob::parallel_for(x.numel(), [&](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
}
OB_KERNEL(scaled_add_out, float, double)

// Squares what it is given in place.
template <class T>
void square_(ob::InOut<T> x) {
  ob::parallel_for(x.numel(), [&](int64_t i) { x[i] = x[i] * x[i]; });
}
OB_KERNEL(square_, float, double)

template <class T>
void swap_(ob::InOut<T> x, ob::InOut<T> y) {
  for (int64_t i = 0; i < x.numel(); ++i) std::swap(x[i], y[i]);
}
OB_KERNEL(swap_, float, double)
