// The functions of opbridge/math.h that use logarithms; see math_exp.h.
#ifndef OPBRIDGE_MATH_LOG_H
#define OPBRIDGE_MATH_LOG_H

#include <opbridge/math_exp.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// log(x) = n * log(2) + f - rest, with f exact, for a positive and finite x.  The rest is of the series of
// log(1 + f) = 2 artanh(s), s = f / (2 + f), which has odd powers only: Muller, Elementary Functions, on logarithms.
template <class T>
struct Logarithm {
  T n, f, rest;
};

template <class T>
OB_ALWAYS_INLINE Logarithm<T> logarithm(T x) {
  constexpr int digits = Format<T>::digits;
  const Bits<T> root_half = bits_as<Bits<T>>(T(0.7071067811865476));
  const bool is_denormal = x < Format<T>::smallest_normal;
  // Every denormal becomes normal by a factor of 2^(digits + 2).
  const T normal = is_denormal ? x * T(Bits<T>(1) << (digits + 2)) : x;
  const T scale = is_denormal ? T(digits + 2) : T(0);
  const Bits<T> shifted = bits_as<Bits<T>>(normal) + (bits_as<Bits<T>>(T(1)) - root_half);
  const Bits<T> one = bits_as<Bits<T>>(T(Bits<T>(1) << digits));
  const T exponent = bits_as<T>((shifted >> digits) | one) - T((Bits<T>(1) << digits) + Format<T>::exponent_bias);
  const Bits<T> fraction = shifted & ((Bits<T>(1) << digits) - 1);
  const T f = bits_as<T>(fraction + root_half) - T(1);
  const T s = f / (T(2) + f), z = s * s, half_square = T(0.5) * f * f;
  return {exponent - scale, f, half_square - s * (half_square + z * log_rest(z))};
}

// Returns any logarithm of an x that is not positive and finite.
template <class T>
OB_ALWAYS_INLINE T log_or_limit(T x, T log) {
  const T infinity = std::numeric_limits<T>::infinity();
  const T positive = x < infinity ? log : x;
  return x > T(0) ? positive : (x == T(0) ? -infinity : std::numeric_limits<T>::quiet_NaN());
}

template <class T>
OB_ALWAYS_INLINE T log_of_positive(T x, T correction) {
  const auto l = logarithm(x);
  return l.n * Format<T>::ln2_high - ((l.rest - (l.n * Format<T>::ln2_low + correction)) - l.f);
}

template <class T>
OB_ALWAYS_INLINE T log(T x) {
  return log_or_limit(x, log_of_positive(x, T(0)));
}

template <class T>
OB_ALWAYS_INLINE T log1p(T x) {
  const T u = T(1) + x;
  // The part of x that u has lost.
  const T lost = x < T(1) ? x - (u - T(1)) : T(1) - (u - x);
  const T log = log_or_limit(u, log_of_positive(u, lost / u));
  return x == T(0) ? x : log;
}

// log(x) / log(base), where `per` is 1 / log(base) and `of_two` log(2) / log(base), both in two parts.
template <class T>
OB_ALWAYS_INLINE T log_of_base(T x, T per_high, T per_low, T of_two_high, T of_two_low) {
  const auto l = logarithm(x);
  const T log = l.f - l.rest;
  const T low = log * per_low - ((log - l.f) + l.rest) * per_high + l.n * of_two_low;
  return log_or_limit(x, l.n * of_two_high + (log * per_high + low));
}

OB_ALWAYS_INLINE float log2(float x) { return log_of_base(x, 1.442695f, 1.925963e-08f, 1.f, 0.f); }
OB_ALWAYS_INLINE double log2(double x) { return log_of_base(x, 1.4426950408889634, 2.0355273740931033e-17, 1., 0.); }
OB_ALWAYS_INLINE float log10(float x) { return log_of_base(x, 0.4342945f, -1.010305e-08f, 0.3010254f, 4.605039e-06f); }
OB_ALWAYS_INLINE double log10(double x) {
  return log_of_base(x, 0.4342944819032518, 1.098319650216765e-17, 0.301029995663157, 8.241712586023572e-13);
}

}  // namespace detail
}  // namespace ob
#endif
