// Operators that are right, of the kinds that a check might accuse: with steps, sums, branches, tables and NaNs.
#include <opbridge/kernel.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#define EACH(name, expression)                          \
  template <class T>                                    \
  void name(ob::In<T> in, ob::Out<T> out) {             \
    ob::parallel_for(out.numel(), [=](int64_t i) {      \
      const auto x = static_cast<ob::opmath<T>>(in[i]); \
      out[i] = T(expression);                           \
    });                                                 \
  }                                                     \
  OB_KERNEL(name, float, double, ob::half, ob::bfloat16)

EACH(relu, x < 0 ? 0 : x)
EACH(gelu, x* std::erfc(-x / std::sqrt(decltype(x)(2))) / 2)
EACH(silu, x / (1 + std::exp(-x)))
EACH(softplus, x > 20 ? x : std::log1p(std::exp(x)))
EACH(down, std::floor(x))
EACH(to_nearest, std::nearbyint(x * 8) / 8)
EACH(sign_of, x > 0 ? 1 : x < 0 ? -1 : 0)
EACH(clamped, std::min(std::max(x, decltype(x)(-1)), decltype(x)(1)))
EACH(hard_swish, x* std::min(std::max(x + 3, decltype(x)(0)), decltype(x)(6)) / 6)
EACH(reciprocal, 1 / x)
EACH(logarithm, std::log(x))
EACH(root, std::sqrt(x))
EACH(arctan, std::atan(x))

#undef EACH

template <class T>
void softmax(ob::In<T> x, ob::Out<T> out) {
  const int64_t n = x.size(-1);
  for (int64_t row = 0; row * n < x.numel(); ++row) {
    const T* from = x.data() + row * n;
    T* to = out.data() + row * n;
    T largest = from[0];
    for (int64_t i = 1; i < n; ++i) largest = std::max(largest, from[i]);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += to[i] = std::exp(from[i] - largest);
    for (int64_t i = 0; i < n; ++i) to[i] = T(to[i] / sum);
  }
}
OB_KERNEL(softmax, float, double)

template <class T>
void layer_norm(ob::In<T> x, ob::Out<T> out) {
  const int64_t n = x.size(-1);
  for (int64_t row = 0; row * n < x.numel(); ++row) {
    const T* from = x.data() + row * n;
    const double mean = std::accumulate(from, from + n, 0.0) / double(n);
    double variance = 0;
    for (int64_t i = 0; i < n; ++i) variance += (from[i] - mean) * (from[i] - mean);
    for (int64_t i = 0; i < n; ++i) out[row * n + i] = T((from[i] - mean) / std::sqrt(variance / double(n) + 1e-5));
  }
}
OB_KERNEL(layer_norm, float, double)

template <class T>
void unit_length(ob::In<T> x, ob::Out<T> out) {
  T sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x[i] * x[i];
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] / std::sqrt(sum);
}
OB_KERNEL(unit_length, float, double)

// One after the other, as a beginner writes it: no bug.
template <class T>
void sum(ob::In<T> x, ob::Out<T> out) {
  T all = 0;
  for (int64_t i = 0; i < x.numel(); ++i) all += x[i];
  out[0] = all;
}
OB_KERNEL(sum, float, double)

template <class T>
void largest(ob::In<T> x, ob::Out<T> out) {
  OB_CHECK(x.numel() > 0, "of nothing there is no largest");
  T found = x[0];
  for (int64_t i = 1; i < x.numel(); ++i) found = std::max(found, x[i]);
  out[0] = found;
}
OB_KERNEL(largest, float, double)

template <class T>
void place_of_largest(ob::In<T> x, ob::Out<int64_t> out) {
  int64_t place = 0;
  for (int64_t i = 1; i < x.numel(); ++i)
    if (x[i] > x[place]) place = i;
  out[0] = place;
}
OB_KERNEL(place_of_largest, float, double)

template <class T>
void running_sum(ob::In<T> x, ob::Out<T> out) {
  T all = 0;
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = all += x[i];
}
OB_KERNEL(running_sum, float, double)

template <class T>
void sorted(ob::In<T> x, ob::Out<T> out) {
  std::copy(x.data(), x.data() + x.numel(), out.data());
  // NaN behind all others, or the order would be none.
  std::sort(out.data(), out.data() + x.numel(), [](T a, T b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
}
OB_KERNEL(sorted, float, double)

template <class T>
void is_positive(ob::In<T> x, ob::Out<bool> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] > 0;
}
OB_KERNEL(is_positive, float, double)

template <class T>
void chosen(ob::In<bool> mask, ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = mask[i] ? x[i] : y[i];
}
OB_KERNEL(chosen, float, double)

template <class T>
void product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < y.size(1); ++j) {
      T all = 0;
      for (int64_t k = 0; k < x.size(1); ++k) all += x(i, k) * y(k, j);
      out(i, j) = all;
    }
}
OB_KERNEL(product, float, double)

template <class T>
void scaled(ob::In<T> x, ob::In<T> scale, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] * scale[i % scale.numel()];
}
OB_KERNEL(scaled, float, double)

// Of a place and a seed, as kernels make random numbers.
template <class T>
void thinned(ob::In<T> x, ob::Out<T> out, int64_t seed) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const uint64_t hash = (uint64_t(i) + uint64_t(seed) * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    out[i] = hash >> 63 ? x[i] * 2 : T(0);
  }
}
OB_KERNEL(thinned, float, double)

template <class T>
void in_buckets(ob::In<T> x, ob::Out<int64_t> out) {
  static constexpr double edges[] = {-1, -0.5, 0, 0.5, 1};
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = std::lower_bound(edges, edges + 5, double(x[i])) - edges;
}
OB_KERNEL(in_buckets, float, double)

template <class T>
void refuses_no_dimensions(ob::In<T> x, ob::Out<T> out) {
  OB_CHECK(x.ndim() > 0, "a tensor without dimensions has no rows");
  std::copy(x.data(), x.data() + x.numel(), out.data());
}
OB_KERNEL(refuses_no_dimensions, float, double)

// Doubles that were floats before they came.
void of_float(ob::In<float> x, ob::Out<float> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = std::sin(x[i]);
}
OB_KERNEL(of_float)

// A cache that threads share as they should.
template <class T>
void with_a_table(ob::In<T> x, ob::Out<T> out) {
  static const std::vector<T> powers = [] {
    std::vector<T> made(16);
    for (size_t i = 0; i < made.size(); ++i) made[i] = std::ldexp(T(1), -int(i));
    return made;
  }();
  thread_local std::vector<T> copy;
  copy.assign(x.data(), x.data() + x.numel());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = copy[size_t(i)] * powers[size_t(i % 16)];
}
OB_KERNEL(with_a_table, float, double)
