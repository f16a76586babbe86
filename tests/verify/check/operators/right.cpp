// Operators that are right, of several kinds.
#include <opbridge/kernel.h>

#include <cmath>

template <class T>
void softplus(ob::In<T> x, ob::Out<T> out) {
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = std::log1p(std::exp(x[i])); });
}
OB_KERNEL(softplus, float, double)

template <class T>
void affine(ob::In<T> x, ob::In<T> scale, ob::Optional<ob::In<T>> shift, ob::Out<T> out) {
  const int64_t width = scale.numel();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * scale[i % width] + (shift ? (*shift)[i % width] : T(0));
}
OB_KERNEL(affine, float, double, ob::half, ob::bfloat16)

template <class T>
void product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  OB_CHECK(x.ndim() == 2 && y.ndim() == 2 && x.size(1) == y.size(0), "shapes ", x.shape(), " and ", y.shape());
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < y.size(1); ++j) {
      ob::opmath<T> sum = 0;
      for (int64_t k = 0; k < x.size(1); ++k) sum += x(i, k) * y(k, j);
      out(i, j) = T(sum);
    }
}
OB_KERNEL(product, float, double)

template <class T>
void root(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = std::sqrt(x[i]);
}
OB_KERNEL(root, float, double)

template <class T>
void add_(ob::InOut<T> x, ob::In<T> y) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] += y[i];
}
OB_KERNEL(add_, float, double)

template <class T>
void pick(ob::In<T> table, ob::In<int64_t> index, ob::Out<T> out) {
  for (int64_t i = 0; i < index.numel(); ++i) {
    OB_CHECK(index[i] < table.numel(), "index ", index[i], " is outside");
    out[i] = table[index[i]];
  }
}
OB_KERNEL(pick, float, double)

void ramp(int64_t n, double start, ob::Out<double> out) {
  for (int64_t i = 0; i < n; ++i) out[i] = start + double(i);
}
OB_KERNEL(ramp)

template <class T>
void sum_all(ob::In<T> x, ob::Optional<ob::List<ob::In<T>>> others, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    out[i] = x[i];
    if (others)
      for (const auto& other : *others) out[i] += other[i];
  }
}
OB_KERNEL(sum_all, float, double)
