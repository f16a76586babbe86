// Kernels for the tests of sharding.
#include <opbridge/kernel.h>

#include <cmath>
#include <utility>

template <class T>
void scaled_mul(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  OB_CHECK(x.shape() == y.shape(), "shapes differ, ", x.shape(), " and ", y.shape());
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = T(alpha) * x[i] * y[i];
}
OB_KERNEL(scaled_mul, float, double)

template <class T>
void product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  const int64_t rows = x.size(0), inner = x.size(1), columns = y.size(1);
  OB_CHECK(y.size(0) == inner, "x has ", inner, " columns, y has ", y.size(0), " rows");
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += x[i * inner + k] * y[k * columns + j];
      out[i * columns + j] = sum;
    }
}
OB_KERNEL(product, float, double)

template <class T>
void largest(ob::In<T> x, ob::Out<T> out) {
  const int64_t columns = x.size(1);
  for (int64_t i = 0; i < x.size(0); ++i) {
    out[i] = x[i * columns];
    for (int64_t j = 1; j < columns; ++j) out[i] = std::max(out[i], x[i * columns + j]);
  }
}
OB_KERNEL(largest, float, double)

template <class T>
void norm(ob::In<T> x, ob::Optional<ob::In<T>> weight, ob::Out<T> y, ob::Out<T> rstd, double eps) {
  const int64_t columns = x.size(-1);
  for (int64_t row = 0; row < rstd.numel(); ++row) {
    T squares = 0;
    for (int64_t j = 0; j < columns; ++j) squares += x[row * columns + j] * x[row * columns + j];
    rstd[row] = T(1) / std::sqrt(squares / T(columns) + T(eps));
    for (int64_t j = 0; j < columns; ++j) {
      y[row * columns + j] = x[row * columns + j] * rstd[row] * (weight ? (*weight)[j] : T(1));
    }
  }
}
OB_KERNEL(norm, float, double)

template <class T>
void norm_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> rstd, ob::Optional<ob::In<T>> weight, ob::Out<T> grad_x,
                   ob::Out<T> grad_weight) {
  const int64_t columns = x.size(-1);
  for (int64_t j = 0; j < columns; ++j) grad_weight[j] = 0;
  for (int64_t row = 0; row < rstd.numel(); ++row) {
    const int64_t first = row * columns;
    T along = 0;
    for (int64_t j = 0; j < columns; ++j) along += grad[first + j] * (weight ? (*weight)[j] : T(1)) * x[first + j];
    along *= rstd[row] * rstd[row] / T(columns);
    for (int64_t j = 0; j < columns; ++j) {
      const T scaled = grad[first + j] * (weight ? (*weight)[j] : T(1));
      grad_x[first + j] = rstd[row] * (scaled - x[first + j] * along);
      grad_weight[j] += grad[first + j] * x[first + j] * rstd[row];
    }
  }
}
OB_KERNEL(norm_backward, float, double)

template <class T>
void add_by_name(ob::In<T> x, ob::In<T> other, ob::Out<T> out, double alpha) {
  OB_CHECK(x.shape() == other.shape(), "shapes differ, ", x.shape(), " and ", other.shape());
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + T(alpha) * other[i];
}
OB_KERNEL(add_by_name, float, double)

template <class T>
void total(ob::List<ob::In<T>> xs, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = 0;
  for (const ob::In<T>& x : xs) {
    OB_CHECK(x.shape() == out.shape(), "shapes differ, ", x.shape(), " and ", out.shape());
    for (int64_t i = 0; i < out.numel(); ++i) out[i] += x[i];
  }
}
OB_KERNEL(total, float, double)

template <class T>
void scale_rows_(ob::InOut<T> x, ob::In<T> factor) {
  const int64_t columns = x.size(1);
  OB_CHECK(factor.numel() == x.size(0), "x has ", x.size(0), " rows, factor has ", factor.numel());
  for (int64_t i = 0; i < x.numel(); ++i) x[i] *= factor[i / columns];
}
OB_KERNEL(scale_rows_, float, double)

template <class T>
void swap(ob::InOut<T> x, ob::InOut<T> y) {
  OB_CHECK(x.shape() == y.shape(), "shapes differ, ", x.shape(), " and ", y.shape());
  for (int64_t i = 0; i < x.numel(); ++i) std::swap(x[i], y[i]);
}
OB_KERNEL(swap, float, double)

template <class T>
void scaled(ob::In<T> x, ob::InOut<T> out, double alpha) {
  OB_CHECK(x.shape() == out.shape(), "shapes differ, ", x.shape(), " and ", out.shape());
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = T(alpha) * x[i];
}
OB_KERNEL(scaled, float, double)
