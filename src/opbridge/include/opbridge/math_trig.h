// The functions of opbridge/math.h that use sines and tangents; see math_exp.h.
//
// Reference: large arguments are reduced as in Payne and Hanek, Radian reduction for trigonometric functions, ACM
// SIGNUM Newsletter 18 (1983): only those digits of 2 / pi are multiplied that decide the quadrant and what is left.
#ifndef OPBRIDGE_MATH_TRIG_H
#define OPBRIDGE_MATH_TRIG_H

#include <opbridge/math_exp.h>
#include <opbridge/math_pairs.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// x = quadrant * pi / 2 + r.high + r.low with |r| up to pi / 4, and whole turns left out.
struct Angle {
  Pair r;
  uint64_t quadrant;
};

// Reduces a magnitude of any size.
OB_ALWAYS_INLINE Angle angle(float x) {
  const int64_t exponent = static_cast<int64_t>(bits_as<uint64_t>(double(x)) >> 52);
  const int64_t beyond = exponent > 1048 ? exponent - 1048 : 0, row = beyond < 103 ? beyond : 103;
  const double high = double(x) * two_over_pi_high[row];  // exact
  const double low = double(x) * two_over_pi_low[row];
  const double quadrant = nearest(high + low);
  const double r = ((high - quadrant) + low) * 1.5707963267948966;
  return {{r, 0.}, bits_as<uint64_t>(quadrant + Format<double>::round_to_whole)};
}

// A whole number of turns is a multiple of 4 here, and what is too large to have other digits is nothing else.
OB_ALWAYS_INLINE double without_turns(double quadrants) {
  return magnitude(quadrants) < 36028797018963968. ? quadrants - 4. * nearest(0.25 * quadrants) : 0.;
}

OB_ALWAYS_INLINE Angle angle(double x) {
  const uint64_t exponent = bits_as<uint64_t>(x) >> 52;
  const uint64_t row = (exponent > 1077 ? exponent - 1077 : 0) >> 5;
  const double scaled = row >= 16 ? x * 2.938735877055719e-39 : x;
  const Pair first = product_of(scaled, two_over_pi_first[row]);
  const Pair second = product_of(scaled, two_over_pi_second[row]);
  const Pair third = product_of(scaled, two_over_pi_third[row]);
  // Add from the largest on, which loses nothing: the remainder may be as small as 2^-62.
  const Pair large = sum_of(without_turns(first.high), without_turns(first.low));
  const Pair whole = sum_of(large.high, without_turns(second.high));
  const double quadrant = nearest(whole.high);
  const Pair a = sum_of(whole.high - quadrant, large.low), b = sum_of(a.high, whole.low);
  const Pair c = sum_of(b.high, second.low), d = sum_of(c.high, third.high);
  const Pair part = sum_of_sorted(d.high, ((a.low + b.low) + (c.low + d.low)) + third.low);
  const Pair r = product_of(part, {1.5707963267948966, 6.123233995736766e-17});
  // A denormal would lose digits on the way.
  const bool is_tiny = x < 1e-100;
  return {{is_tiny ? x : r.high, is_tiny ? 0. : r.low}, bits_as<uint64_t>(quadrant + Format<double>::round_to_whole)};
}

OB_ALWAYS_INLINE double sin_of(Pair r) {
  const double z = r.high * r.high;
  return r.high + (r.high * z * sin_rest(z) + r.low * (1. - 0.5 * z));
}

OB_ALWAYS_INLINE double cos_of(Pair r) {
  const double z = r.high * r.high, half = 0.5 * z, near = 1. - half;
  return near + (((1. - near) - half) + (z * z * cos_rest(z) - r.high * r.low));
}

OB_ALWAYS_INLINE double tan_of(Pair r) {
  const double z = r.high * r.high, rest = r.high * z * tan_rest(z), tan = r.high + rest;
  return r.high + (rest + r.low * (1. + tan * tan));
}

// `value` with the sign that is the highest of `sign`; not a number where x is infinite or none.
template <class T>
OB_ALWAYS_INLINE T of_finite(T x, T value, Bits<T> sign) {
  const T flipped = bits_as<T>(bits_as<Bits<T>>(value) ^ (sign & ~(~Bits<T>(0) >> 1)));
  return magnitude(x) < std::numeric_limits<T>::infinity() ? flipped : x - x;
}

// The sine of x and `more` right angles.
template <class T>
OB_ALWAYS_INLINE T sin_further(T x, uint64_t more, Bits<T> sign) {
  const Angle part = angle(magnitude(x));
  const uint64_t quadrant = part.quadrant + more;
  const T value = static_cast<T>((quadrant & 1) != 0 ? cos_of(part.r) : sin_of(part.r));
  return of_finite(x, value, sign ^ (static_cast<Bits<T>>(quadrant >> 1) << (sizeof(T) * 8 - 1)));
}

template <class T>
OB_ALWAYS_INLINE T sin(T x) {
  return sin_further(x, 0, bits_as<Bits<T>>(x));
}

template <class T>
OB_ALWAYS_INLINE T cos(T x) {
  return sin_further(x, 1, Bits<T>(0));
}

template <class T>
OB_ALWAYS_INLINE T tan(T x) {
  const Angle part = angle(magnitude(x));
  const double tan = tan_of(part.r);
  const bool is_odd = (part.quadrant & 1) != 0;
  return of_finite(x, static_cast<T>((is_odd ? -1. : tan) / (is_odd ? tan : 1.)), bits_as<Bits<T>>(x));
}

// numerator / denominator as an angle between 0 and pi / 2; neither is negative.
template <class T>
OB_ALWAYS_INLINE T atan_of_ratio(T numerator, T denominator) {
  const bool is_far = numerator > T(2.414213562373095) * denominator;
  const bool is_near = numerator < T(0.41421356237309503) * denominator;
  const T up = is_far ? -denominator : (is_near ? numerator : numerator - denominator);
  const T down = is_far ? numerator : (is_near ? denominator : numerator + denominator);
  const T base = is_far ? T(1.5707963267948966) : (is_near ? T(0) : T(0.7853981633974483));
  const T lost = is_far ? Format<T>::half_pi_low : (is_near ? T(0) : T(0.5) * Format<T>::half_pi_low);
  const T t = up / down, z = t * t;
  return base + (t + (lost + t * z * atan_rest(z)));
}

template <class T>
OB_ALWAYS_INLINE T atan(T x) {
  return with_sign_of(atan_of_ratio(magnitude(x), T(1)), x);
}

template <class T>
OB_ALWAYS_INLINE T atan2(T y, T x) {
  const T infinity = std::numeric_limits<T>::infinity();
  T a = magnitude(y), b = magnitude(x);
  // The ratio of two infinities counts as 1 and that of two zeros as 0; later sums and products must stay in range.
  const bool infinite = a == infinity && b == infinity, zero = a == T(0) && b == T(0);
  const bool huge = a > Format<T>::half_of_largest || b > Format<T>::half_of_largest;
  const bool tiny = a < T(4) * Format<T>::smallest_normal && b < T(4) * Format<T>::smallest_normal;
  const T scale = huge ? T(0.25) : (tiny ? T(Bits<T>(1) << (Format<T>::digits + 2)) : T(1));
  a = infinite ? T(1) : a * scale;
  b = infinite || zero ? T(1) : b * scale;
  const T angle = atan_of_ratio(a, b);
  const bool is_left = (bits_as<Bits<T>>(x) & ~(~Bits<T>(0) >> 1)) != 0;
  const T whole = is_left ? (T(3.141592653589793) - angle) + T(2) * Format<T>::half_pi_low : angle;
  return with_sign_of(whole, y);
}

}  // namespace detail
}  // namespace ob
#endif
