// Kernels as people write them.  A line that stays scalar says so; all others become vector code.
#include <opbridge/kernel.h>

#include <algorithm>
#include <cmath>

#define EACH(name, expression)                                                                      \
  template <class T>                                                                                \
  void name(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double a) {                                   \
    const T s = T(a);                                                                               \
    ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = static_cast<T>(expression + 0 * s); }); \
  }                                                                                                 \
  OB_KERNEL(name, float)

EACH(relu, (x[i] > 0 ? x[i] : T(0)))
EACH(relu_by_max, std::max(x[i], T(0)))
EACH(leaky_relu, (x[i] > 0 ? x[i] : x[i] * s))
EACH(prelu, (x[i] >= 0 ? x[i] : x[i] * y[i]))
EACH(elu, (x[i] > 0 ? x[i] : s * (std::exp(x[i]) - 1)))
EACH(celu, (std::max(T(0), x[i]) + std::min(T(0), s* std::expm1(x[i] / s))))
EACH(selu, (T(1.0507) * (x[i] > 0 ? x[i] : T(1.6733) * std::expm1(x[i]))))
EACH(silu, (x[i] / (1 + std::exp(-x[i]))))
EACH(sigmoid, (1 / (1 + std::exp(-x[i]))))
EACH(gelu, (T(0.5) * x[i] * (1 + std::erf(x[i] * T(0.70710678)))))
EACH(gelu_by_tanh, (T(0.5) * x[i] * (1 + std::tanh(T(0.79788456) * (x[i] + T(0.044715) * x[i] * x[i] * x[i])))))
EACH(mish, (x[i] * std::tanh(std::log1p(std::exp(x[i])))))
EACH(softplus, (x[i] > s ? x[i] : std::log1p(std::exp(x[i]))))
EACH(softsign, (x[i] / (1 + std::abs(x[i]))))
EACH(hardtanh, (std::min(std::max(x[i], -s), s)))
EACH(hardswish, (x[i] * std::min(std::max(x[i] + 3, T(0)), T(6)) / 6))
EACH(hardshrink, (std::abs(x[i]) > s ? x[i] : T(0)))
EACH(softshrink, (x[i] > s ? x[i] - s : x[i] < -s ? x[i] + s : T(0)))
EACH(threshold, (x[i] > s ? x[i] : T(20)))
EACH(tanhshrink, (x[i] - std::tanh(x[i])))
EACH(clamp, (x[i] < -s ? -s : x[i] > s ? s : x[i]))
EACH(masked, (y[i] != 0 ? s : x[i]))
EACH(where, (y[i] > 0 ? x[i] : y[i]))
EACH(dropout, (x[i] * (y[i] < s) / (1 - s)))
EACH(nan_to_num, (std::isnan(x[i]) ? T(0) : x[i]))
EACH(to_integer, (static_cast<int32_t>(x[i])))
EACH(rounded, (std::nearbyint(x[i] * s)))
EACH(mse, ((x[i] - y[i]) * (x[i] - y[i])))
EACH(huber, (std::abs(x[i] - y[i]) < s ? T(0.5) * (x[i] - y[i]) * (x[i] - y[i]) : s * (std::abs(x[i] - y[i]) - s / 2)))
EACH(bce, (-(y[i] * std::log(x[i]) + (1 - y[i]) * std::log(1 - x[i]))))
EACH(bce_with_logits, (std::max(x[i], T(0)) - x[i] * y[i] + std::log1p(std::exp(-std::abs(x[i])))))
EACH(kl_div, (y[i] > 0 ? y[i] * (std::log(y[i]) - x[i]) : T(0)))
EACH(hinge, (std::max(T(0), 1 - y[i] * x[i])))
EACH(power, (std::pow(x[i], y[i])))
EACH(rotary, (x[i] * std::cos(y[i]) - y[i] * std::sin(y[i])))
EACH(log_gamma, (std::lgamma(x[i])))  // scalar: it calls lgammaf

template <class T>
void short_leaky_relu(ob::In<T> x, ob::Out<T> out, double a) {
  const float slope = float(a);
  ob::parallel_for(x.numel(), [=](int64_t i) {
    const float value = x[i];
    out[i] = value > 0 ? value : value * slope;
  });
}
OB_KERNEL(short_leaky_relu, ob::half, ob::bfloat16)

template <class T>
void scale_halves(ob::In<T> x, ob::Out<T> out, double a) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = T(float(x[i]) * float(a)); });
}
OB_KERNEL(scale_halves, ob::half)

template <class T>
void short_silu(ob::In<T> x, ob::Out<T> out) {
  ob::map(out, [](float value) { return value / (1 + std::exp(-value)); }, x);
}
OB_KERNEL(short_silu, ob::half, ob::bfloat16)

template <class T>
void short_gamma(ob::In<T> x, ob::Out<T> out) {
  ob::map(out, [](float value) { return std::lgamma(value); }, x);  // scalar: it calls lgammaf
}
OB_KERNEL(short_gamma, ob::half)

template <class T>
void rms_norm(ob::In<T> x, ob::In<T> weight, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_for(
      x.numel() / width,
      [=](int64_t row) {
        const T* from = x.data() + row * width;
        T* to = out.data() + row * width;
        T sum = 0;
        for (int64_t j = 0; j < width; ++j) sum += from[j] * from[j];
        const T scale = 1 / std::sqrt(sum / width + T(1e-6));
        for (int64_t j = 0; j < width; ++j) to[j] = from[j] * scale * weight[j];
      },
      16);
}
OB_KERNEL(rms_norm, float)

template <class T>
void softmax(ob::In<T> x, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_for(
      x.numel() / width,
      [=](int64_t row) {
        const T* from = x.data() + row * width;
        T* to = out.data() + row * width;
        T most = from[0];
        for (int64_t j = 1; j < width; ++j) most = std::max(most, from[j]);  // scalar: each round needs
        T sum = 0;
        for (int64_t j = 0; j < width; ++j) to[j] = std::exp(from[j] - most);
        for (int64_t j = 0; j < width; ++j) sum += to[j];
        for (int64_t j = 0; j < width; ++j) to[j] /= sum;
      },
      16);
}
OB_KERNEL(softmax, float)

template <class T>
void first_negative(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x[i] < 0) break;  // scalar: it may branch or end early
    out[i] = x[i];
  }
}
OB_KERNEL(first_negative, float)

template <class T>
void layer_norm(ob::In<T> x, ob::In<T> weight, ob::In<T> bias, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_rows(x.numel() / width, width, [=](int64_t row) {
    const T* from = x.data() + row * width;
    T* to = out.data() + row * width;
    const T mean = ob::sum(width, [=](int64_t j) { return from[j]; }) / width;
    const T square = ob::sum(width, [=](int64_t j) { return (from[j] - mean) * (from[j] - mean); });
    const T scale = 1 / std::sqrt(square / width + T(1e-5));
    for (int64_t j = 0; j < width; ++j) to[j] = (from[j] - mean) * scale * weight[j] + bias[j];
  });
}
OB_KERNEL(layer_norm, float)

template <class T>
void log_softmax(ob::In<T> x, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_rows(x.numel() / width, width, [=](int64_t row) {
    const T* from = x.data() + row * width;
    T* to = out.data() + row * width;
    const T most = ob::maximum(width, [=](int64_t j) { return from[j]; });
    const T sum = ob::sum(width, [=](int64_t j) { return std::exp(from[j] - most); });
    const T log = std::log(sum) + most;
    for (int64_t j = 0; j < width; ++j) to[j] = from[j] - log;
  });
}
OB_KERNEL(log_softmax, float)

template <class T>
void range(ob::In<T> x, ob::Out<T> out) {
  out[0] = ob::parallel_reduce(
      x.numel(), T(0), [=](int64_t i) { return std::abs(x[i]); }, [](T a, T b) { return a < b ? b : a; });
}
OB_KERNEL(range, float)

void quantized(ob::In<float> x, ob::Out<int8_t> out, double a) {
  const float scale = float(1 / a);
  ob::parallel_for(x.numel(), [=](int64_t i) {
    const float value = std::nearbyint(x[i] * scale);
    out[i] = static_cast<int8_t>(std::min(std::max(value, -128.f), 127.f));
  });
}
OB_KERNEL(quantized)

void masked_fill(ob::In<float> x, ob::In<bool> mask, ob::Out<float> out, double value) {
  const float fill = float(value);
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = mask[i] ? fill : x[i]; });
}
OB_KERNEL(masked_fill)

void masked_by_pointer(ob::In<float> x, ob::In<bool> mask, ob::Out<float> out) {
  const bool* m = mask.data();
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = m[i] ? x[i] : 0; });  // scalar: it loads or stores
}
OB_KERNEL(masked_by_pointer)

void both(ob::In<bool> x, ob::In<bool> y, ob::Out<bool> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i] & y[i]; });
}
OB_KERNEL(both)

void greater(ob::In<float> x, ob::In<float> y, ob::Out<bool> out) {
  ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i] > y[i]; });
}
OB_KERNEL(greater)

template <class T>
void causal_mask(ob::In<T> x, ob::Out<T> out) {
  const int64_t width = x.size(-1);
  ob::parallel_rows(x.numel() / width, width, [=](int64_t row) {
    const T* from = x.data() + row * width;
    T* to = out.data() + row * width;
    for (int64_t j = 0; j < width; ++j) to[j] = j > row % width ? T(-HUGE_VALF) : from[j];
  });
}
OB_KERNEL(causal_mask, float)
