// Arithmetic on one register at a time, in the vector types of g++ and clang++.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lanes {

#if defined(__AVX512F__)
constexpr int64_t kBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kBytes = 32;
#else
constexpr int64_t kBytes = 16;
#endif

template <class T>
struct Of {
  static constexpr int64_t count = kBytes / static_cast<int64_t>(sizeof(T));
  typedef T type __attribute__((vector_size(kBytes)));
};

template <class T>
using Lanes = typename Of<T>::type;

template <class T>
constexpr int64_t count = Of<T>::count;

template <class T>
inline Lanes<T> load(const T* p) {
  Lanes<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T>
inline void store(T* p, Lanes<T> v) {
  std::memcpy(p, &v, sizeof v);
}

// Loads the first n elements, with zeros for the others; stores the first n.
template <class T>
inline Lanes<T> load(const T* p, int64_t n) {
  if (n >= count<T>) return load(p);
  Lanes<T> v = {};
  std::memcpy(&v, p, static_cast<size_t>(n) * sizeof(T));
  return v;
}

template <class T>
inline void store(T* p, Lanes<T> v, int64_t n) {
  std::memcpy(p, &v, n >= count<T> ? sizeof v : static_cast<size_t>(n) * sizeof(T));
}

template <class T, class F>
inline Lanes<T> each(Lanes<T> x, F f) {
  for (int64_t i = 0; i < count<T>; ++i) x[i] = f(x[i]);
  return x;
}

template <class T>
inline T sum(Lanes<T> x) {
  for (int64_t half = count<T> / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

template <class T, size_t... I>
inline Lanes<T> merged(Lanes<T> a, Lanes<T> b, std::index_sequence<I...>, std::false_type) {
  return __builtin_shufflevector(a, b, (I % 2 * sizeof...(I) + I / 2)...);
}

template <class T, size_t... I>
inline Lanes<T> merged(Lanes<T> a, Lanes<T> b, std::index_sequence<I...>, std::true_type) {
  return __builtin_shufflevector(a, b, (I % 2 * sizeof...(I) + sizeof...(I) / 2 + I / 2)...);
}

// Transposes a square by merging the first half of the rows with the second, repeatedly.
template <class T>
inline void transpose(Lanes<T>* v) {
  constexpr int64_t half = count<T> / 2;
  const std::make_index_sequence<static_cast<size_t>(count<T>)> all;
  for (int64_t merges = 1; merges < count<T>; merges *= 2) {
    Lanes<T> next[count<T>];
    for (int64_t i = 0; i < half; ++i) {
      next[2 * i] = merged<T>(v[i], v[i + half], all, std::false_type());
      next[2 * i + 1] = merged<T>(v[i], v[i + half], all, std::true_type());
    }
    for (int64_t i = 0; i < count<T>; ++i) v[i] = next[i];
  }
}

// e^x for x <= 0, which suffices below; exact to 1e-7 of 1 in float and to the last bits in double.
inline Lanes<double> exp_negative(Lanes<double> x) {
  return each<double>(x, [](double v) { return std::exp(v); });
}

inline Lanes<float> exp_negative(Lanes<float> x) {
  typedef uint32_t Ints __attribute__((vector_size(kBytes)));
  // Comparisons with NaN are false, so NaN stays NaN.
  const auto is_zero = x < -87.0f;
  x = is_zero ? Lanes<float>{} : x;
  // x = n log 2 + r: adding 1.5 * 2^23 rounds to an integer in the last bits.
  const Lanes<float> shifted = x * 1.44269504f + 12582912.0f;
  const Lanes<float> n = shifted - 12582912.0f;
  const Lanes<float> r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Lanes<float> p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const Ints power = (reinterpret_cast<Ints>(shifted) + 127) << 23;
  return is_zero ? Lanes<float>{} : p * reinterpret_cast<Lanes<float>>(power);
}

template <class V>
inline V magnitude(V x) {
  return x < 0 ? -x : x;
}

template <class T>
inline Lanes<T> sigmoid(Lanes<T> x) {
  const Lanes<T> e = exp_negative(-magnitude(x));
  return (x < 0 ? e : 1 + Lanes<T>{}) / (1 + e);
}

template <class T>
inline Lanes<T> tanh(Lanes<T> x) {
  const Lanes<T> e = exp_negative(-2 * magnitude(x));
  const Lanes<T> t = (1 - e) / (1 + e);
  return x < 0 ? -t : t;
}

// Exponential linear unit.
template <class T>
inline Lanes<T> elu(Lanes<T> x) {
  return x > 0 ? x : exp_negative(x > 0 ? Lanes<T>{} : x) - 1;
}

}  // namespace lanes
