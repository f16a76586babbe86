// The functions of opbridge/math.h that use e^x: exponentials, hyperbolic functions, the error function.
//
// No branch, no table and no call, in the arithmetic of the argument's own type: a loop around them becomes vector code
// on any processor.  What a condition selects is computed on both sides.
//
// Reference: arguments are reduced as in Cody and Waite, Software Manual for the Elementary Functions (1980), by ln(2)
// in two parts; the polynomials are those of tools/minimax.py.
#ifndef OPBRIDGE_MATH_EXP_H
#define OPBRIDGE_MATH_EXP_H

#include <opbridge/half.h>
#include <opbridge/polynomials.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// The layout of a floating point type, for functions that work on its bits.
template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int digits = 23;
  static constexpr uint32_t exponent_bias = 127;
  static constexpr float round_to_whole = 12582912.f;  // 1.5 * 2^23: added to a number, leaves no room for a fraction
  static constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.4286068e-06f;  // n * high is exact
  static constexpr float largest_exp = 90.f, least_exp = -104.f;                   // infinity, and zero
  static constexpr float largest_exp2 = 129.f, least_exp2 = -151.f;
  static constexpr float minus_one = -20.f;  // e^x - 1 there
  static constexpr float tanh_is_one = 10.f;
  static constexpr float erf_is_one = 3.93f;
  static constexpr float smallest_normal = 1.17549435e-38f, half_of_largest = 1.7014118e38f;
  static constexpr float half_pi_low = -4.371139e-08f;  // what float's pi / 2 lacks
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int digits = 52;
  static constexpr uint64_t exponent_bias = 1023;
  static constexpr double round_to_whole = 6755399441055744.0;
  static constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  static constexpr double largest_exp = 711., least_exp = -746.;
  static constexpr double largest_exp2 = 1025., least_exp2 = -1076.;
  static constexpr double minus_one = -40.;
  static constexpr double tanh_is_one = 20.;
  static constexpr double erf_is_one = 5.95;
  static constexpr double smallest_normal = 2.2250738585072014e-308, half_of_largest = 8.98846567431158e307;
  static constexpr double half_pi_low = 6.123233995736766e-17;
};

template <class T>
using Bits = typename Format<T>::Bits;

// Rounds to the nearest whole number, to even if two are equally near; below 2^22 in magnitude for float, 2^51 for
// double.
template <class T>
OB_ALWAYS_INLINE T nearest(T x) {
  return (x + Format<T>::round_to_whole) - Format<T>::round_to_whole;
}

// The same below 2^23 and 2^52, for what is not negative.
template <class T>
OB_ALWAYS_INLINE T nearest_positive(T x) {
  const T no_fraction(Bits<T>(1) << Format<T>::digits);
  return (x + no_fraction) - no_fraction;
}

// 2 to the power of a whole number, if the result is normal.
template <class T>
OB_ALWAYS_INLINE T power_of_two(T n) {
  const Bits<T> exponent = bits_as<Bits<T>>(n + Format<T>::round_to_whole) << Format<T>::digits;
  return bits_as<T>(exponent + bits_as<Bits<T>>(T(1)));
}

template <class T>
OB_ALWAYS_INLINE T magnitude(T x) {
  return bits_as<T>(bits_as<Bits<T>>(x) & (~Bits<T>(0) >> 1));
}

template <class T>
OB_ALWAYS_INLINE T with_sign_of(T magnitude, T x) {
  return bits_as<T>(bits_as<Bits<T>>(magnitude) | (bits_as<Bits<T>>(x) & ~(~Bits<T>(0) >> 1)));
}

// Returns NaN if x is NaN.
template <class T>
OB_ALWAYS_INLINE T at_most(T x, T limit) {
  return x > limit ? limit : x;
}
template <class T>
OB_ALWAYS_INLINE T at_least(T x, T limit) {
  return x < limit ? limit : x;
}

// e^x = (1 + r + rest) * 2^n, up to what rounding r has lost
template <class T>
struct Exponential {
  T n, r, rest, lost;
};

template <class T>
OB_ALWAYS_INLINE Exponential<T> exponential(T x) {
  const T n = nearest(x * T(1.4426950408889634));
  const T high = x - n * Format<T>::ln2_high, low = n * Format<T>::ln2_low;
  const T r = high - low;
  return {n, r, r * r * exp_rest(r), (high - r) - low};
}

// Scales in two steps.  The last one rounds denormal results and overflows to infinity.
template <class T>
OB_ALWAYS_INLINE T times_power_of_two(T x, T n) {
  constexpr int digits = Format<T>::digits;
  const Bits<T> one = bits_as<Bits<T>>(T(1));
  // Its last bits are n, and those of its half n / 2: what stands above them is shifted out.
  const Bits<T> whole = bits_as<Bits<T>>(n + Format<T>::round_to_whole), half = whole >> 1;
  return x * bits_as<T>((half << digits) + one) * bits_as<T>(((whole - half) << digits) + one);
}

// e^x * 2^shift
template <class T>
OB_ALWAYS_INLINE T exp_shifted(T x, T shift) {
  const auto e = exponential(at_least(at_most(x, Format<T>::largest_exp), Format<T>::least_exp));
  return times_power_of_two(T(1) + (e.r + e.rest), e.n + shift);
}

template <class T>
OB_ALWAYS_INLINE T exp(T x) {
  return exp_shifted(x, T(0));
}

template <class T>
OB_ALWAYS_INLINE T exp2(T x) {
  x = at_least(at_most(x, Format<T>::largest_exp2), Format<T>::least_exp2);
  const T n = nearest(x);
  const T r = (x - n) * T(0.6931471805599453);
  return times_power_of_two(T(1) + (r + r * r * exp_rest(r)), n);
}

// Not for -0, which would become 0.
template <class T>
OB_ALWAYS_INLINE T expm1_of_nonzero(T x) {
  const auto e = exponential(at_least(at_most(x, Format<T>::largest_exp), Format<T>::minus_one));
  const T less = T(1) - power_of_two(-at_most(e.n, T(Format<T>::digits + 8)));
  return times_power_of_two((less + e.r) + (e.rest + e.lost), e.n);
}

template <class T>
OB_ALWAYS_INLINE T expm1(T x) {
  return x == T(0) ? x : expm1_of_nonzero(x);
}

template <class T>
OB_ALWAYS_INLINE T tanh(T x) {
  const T a = at_most(magnitude(x), Format<T>::tanh_is_one);
  const auto e = exponential(T(2) * a);
  const T scale = power_of_two(e.n), far = T(1) - T(2) / ((scale + scale * (e.r + e.rest)) + T(1));
  const T z = a * a, near = a + a * z * tanh_rest(z);
  return with_sign_of(a < T(0.55) ? near : far, x);
}

template <class T>
OB_ALWAYS_INLINE T cosh(T x) {
  const T half = exp_shifted(magnitude(x), T(-1));
  return half + T(0.25) / half;
}

template <class T>
OB_ALWAYS_INLINE T sinh(T x) {
  const T a = magnitude(x), z = a * a;
  const T half = exp_shifted(a, T(-1));
  return with_sign_of(a < T(1) ? a + a * z * sinh_rest(z) : half - T(0.25) / half, x);
}

// 1 / (1 + e^-x), where e^-x is (1 + q) * 2^n; both are divided by 2^n where that is above 1.  The larger of the sum's
// terms is added last, so that it is rounded once.
template <class T>
OB_ALWAYS_INLINE T sigmoid(T x) {
  const auto e = exponential(at_least(at_most(-x, -Format<T>::least_exp), Format<T>::least_exp));
  const T q = e.r + e.rest;
  // 2^-|n| may be denormal; times 2^far it is not, and is its exponent's bits alone.
  constexpr int far = Format<T>::digits * 3;
  const T many = power_of_two(T(far)), few = power_of_two(T(-far));
  const T exponent = T(far + static_cast<int>(Format<T>::exponent_bias)) - magnitude(e.n);
  const T scaled = bits_as<T>(bits_as<Bits<T>>(exponent + Format<T>::round_to_whole) << Format<T>::digits);
  const T small = scaled * few;
  const bool is_divided = e.n > T(0);
  const T sum = ((is_divided ? q : T(1)) + small) + (is_divided ? T(1) : small * q);
  return (is_divided ? scaled : many) / sum * few;
}

template <class T>
OB_ALWAYS_INLINE T erf(T x) {
  const T a = at_most(magnitude(x), Format<T>::erf_is_one);
  const T near = a + a * erf_rest(a * a);
  const T far = T(1) - exp_shifted(log_erfc(a - T(1)), T(0));
  return with_sign_of(a < T(1) ? near : far, x);
}

}  // namespace detail
}  // namespace ob
#endif
