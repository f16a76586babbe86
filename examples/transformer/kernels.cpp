#include <opbridge/kernel.h>

#include <cmath>
#include <cstring>
#include <type_traits>

namespace {

// In lanes, of which the compiler makes vector code; the order of one running sum it may not change.
template <class T, class F>
T sum(int64_t n, F term) {
  constexpr int lanes = 16;
  T partial[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int lane = 0; lane < lanes; ++lane) partial[lane] += term(i + lane);
  for (; i < n; ++i) partial[0] += term(i);
  T total = 0;
  for (T one : partial) total += one;
  return total;
}

template <class T>
T inverse_rms(const T* row, int64_t width, T eps) {
  return 1 / std::sqrt(sum<T>(width, [=](int64_t i) { return row[i] * row[i]; }) / T(width) + eps);
}

// 2^n times e^r, by Taylor's series, as r is at most log(2) / 2: plain arithmetic becomes vector code, std::exp does
// not.
template <class T>
T exponential(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  using Bits = std::conditional_t<single, int32_t, int64_t>;
  constexpr int terms = single ? 7 : 13, mantissa = single ? 23 : 52, bias = single ? 127 : 1023;
  constexpr T largest = single ? 87 : 708;
  // log(2) in two parts, the first so short that n times it is exact.
  constexpr T high = T(0.693145751953125), low = T(1.4286068203094172e-06);
  x = x < -largest ? -largest : x > largest ? largest : x;
  const T n = std::nearbyint(x * T(1.4426950408889634)), r = (x - n * high) - n * low;
  T series = 1;
  for (int k = terms; k > 0; --k) series = 1 + series * r * (T(1) / T(k));
  const Bits bits = (Bits(n) + bias) << mantissa;
  T power;
  std::memcpy(&power, &bits, sizeof power);
  return series * power;
}

template <class T>
T sigmoid(T x) {
  return 1 / (1 + exponential(-x));
}

}  // namespace

template <class T>
void rms_norm(ob::In<T> x, ob::In<T> weight, ob::Out<T> out, double eps) {
  OB_CHECK(x.ndim() > 0 && weight.ndim() == 1 && weight.size(0) == x.size(-1), "weight has shape ", weight.shape(),
           ", expected one number for each of the last dimension of x, which has shape ", x.shape());
  const int64_t width = x.size(-1);
  if (width == 0) return;
  ob::parallel_for(
      x.numel() / width,
      [=](int64_t row) {
        const T *in = x.data() + row * width, *w = weight.data();
        T* result = out.data() + row * width;
        const T scale = inverse_rms(in, width, T(eps));
        for (int64_t i = 0; i < width; ++i) result[i] = in[i] * scale * w[i];
      },
      /*grain=*/64);
}
OB_KERNEL(rms_norm, float, double)

template <class T>
void rms_norm_backward(ob::In<T> grad, ob::In<T> x, ob::In<T> weight, ob::Out<T> grad_x, ob::Out<T> grad_weight,
                       double eps) {
  const int64_t width = x.size(-1), rows = width == 0 ? 0 : x.numel() / width;
  const T* w = weight.data();
  T* total = grad_weight.data();
  for (int64_t i = 0; i < width; ++i) total[i] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const T *g = grad.data() + row * width, *in = x.data() + row * width;
    T* out = grad_x.data() + row * width;
    const T scale = inverse_rms(in, width, T(eps));
    const T along = sum<T>(width, [=](int64_t i) { return g[i] * w[i] * in[i]; }) * scale * scale / T(width);
    for (int64_t i = 0; i < width; ++i) out[i] = scale * (g[i] * w[i] - in[i] * along);
    for (int64_t i = 0; i < width; ++i) total[i] += g[i] * in[i] * scale;
  }
}
OB_KERNEL(rms_norm_backward, float, double)

template <class T>
void swiglu(ob::In<T> gate, ob::In<T> up, ob::Out<T> out) {
  OB_CHECK(gate.shape() == up.shape(), "up has shape ", up.shape(), ", expected that of gate, ", gate.shape());
  ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = gate[i] * sigmoid(gate[i]) * up[i]; });
}
OB_KERNEL(swiglu, float, double)

template <class T>
void swiglu_backward(ob::In<T> grad, ob::In<T> gate, ob::In<T> up, ob::Out<T> grad_gate, ob::Out<T> grad_up) {
  ob::parallel_for(grad.numel(), [=](int64_t i) {
    const T s = sigmoid(gate[i]);
    grad_gate[i] = grad[i] * up[i] * s * (1 + gate[i] * (1 - s));
    grad_up[i] = grad[i] * gate[i] * s;
  });
}
OB_KERNEL(swiglu_backward, float, double)
