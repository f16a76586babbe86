// Kernels whose outputs have other shapes and dtypes than their inputs.
#include <opbridge/kernel.h>

template <class T>
void matrix_product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  const int64_t inner = x.size(1);
  OB_CHECK(y.size(0) == inner, "matrix_product: ", x.shape(), " @ ", y.shape());
  for (int64_t i = 0; i < out.size(0); ++i) {
    for (int64_t j = 0; j < out.size(1); ++j) {
      T total = 0;
      for (int64_t k = 0; k < inner; ++k) total += x(i, k) * y(k, j);
      out(i, j) = total;
    }
  }
}
OB_KERNEL(matrix_product, float, double)

// Reads any layout: the caller makes no copy of a transposed matrix.
template <class T>
void row_sums(ob::In<T, ob::strided> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    out[i] = 0;
    for (int64_t j = 0; j < x.size(1); ++j) out[i] += x(i, j);
  }
}
OB_KERNEL(row_sums, float, double)

// Adds with NumPy's broadcasting, over dtypes that may differ.
void broadcast_add(ob::In<ob::any, ob::strided> x, ob::In<ob::any, ob::strided> y, ob::Out<ob::any> out) {
  const auto read = [](const auto& t, int64_t at) {
    return t.dtype().code == OB_float32 ? static_cast<double>(static_cast<const float*>(t.data())[at])
                                        : static_cast<const double*>(t.data())[at];
  };
  for (int64_t i = 0; i < out.numel(); ++i) {
    int64_t rest = i, at_x = 0, at_y = 0;
    for (int64_t dim = 1; dim <= out.ndim(); ++dim) {
      const int64_t k = rest % out.size(-dim);
      rest /= out.size(-dim);
      if (dim <= x.ndim() && x.size(-dim) != 1) at_x += k * x.stride(-dim);
      if (dim <= y.ndim() && y.size(-dim) != 1) at_y += k * y.stride(-dim);
    }
    const double sum = read(x, at_x) + read(y, at_y);
    if (out.dtype().code == OB_float32) {
      static_cast<float*>(out.data())[i] = static_cast<float>(sum);
    } else {
      static_cast<double*>(out.data())[i] = sum;
    }
  }
}
OB_KERNEL(broadcast_add)

template <class T>
void windows(ob::In<T> x, ob::Out<T> out, int64_t size, int64_t step) {
  const int64_t n = x.size(-1), count = out.size(-2);
  for (int64_t row = 0; row < x.numel() / n; ++row) {
    for (int64_t w = 0; w < count; ++w) {
      for (int64_t k = 0; k < size; ++k) out[(row * count + w) * size + k] = x[row * n + w * step + k];
    }
  }
}
OB_KERNEL(windows, float, double)

template <class T>
void pile(ob::List<ob::In<T>> xs, ob::Out<T> out) {
  T* to = out.data();
  for (const auto& x : xs) {
    for (int64_t i = 0; i < x.numel(); ++i) *to++ = x[i];
  }
}
OB_KERNEL(pile, float, double)

// The largest element of each row and where it stands.
template <class T>
void largest(ob::In<T> x, ob::Out<T> value, ob::Out<int64_t> place) {
  const int64_t n = x.size(-1);
  for (int64_t row = 0; row < value.numel(); ++row) {
    int64_t best = 0;
    for (int64_t k = 1; k < n; ++k) {
      if (x[row * n + k] > x[row * n + best]) best = k;
    }
    value[row] = x[row * n + best];
    place[row] = best;
  }
}
OB_KERNEL(largest, float, double)

// Scales each row by a weight of its own columns: `... h, h -> ... h`.
template <class T>
void scale_columns(ob::In<T> x, ob::In<T> weight, ob::Out<T> out) {
  const int64_t columns = weight.numel();
  OB_CHECK(x.size(-1) == columns, "scale_columns: ", x.shape(), " and ", weight.shape());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * weight[i % columns];
}
OB_KERNEL(scale_columns, float, double)

// Gives back its last tensor; everything else is for derivatives to read.
void probe(ob::In<ob::any>, ob::In<ob::any>, ob::In<ob::any> t, ob::Out<ob::any> out, ob::Optional<ob::Ints>, int64_t,
           bool, ob::Ints) {
  // An empty tensor has no memory, which memcpy does not take.
  if (t.numel() == 0) return;
  memcpy(out.data(), t.data(), static_cast<size_t>(t.numel()) * static_cast<size_t>(t.dtype().itemsize()));
}
OB_KERNEL(probe)
