// ob::pow; see math_exp.h.
#ifndef OPBRIDGE_MATH_POW_H
#define OPBRIDGE_MATH_POW_H

#include <opbridge/math_log.h>
#include <opbridge/math_pairs.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// The logarithm to base 2 of a positive and finite x, to some 65 bits.
OB_ALWAYS_INLINE Pair log2_of_positive(double x) {
  const auto l = logarithm(x);
  // log(1 + f) = s * (2 + s^2 * (2 / 3 + ...)), where s = f / (2 + f)
  const Pair below = sum_of_sorted(2., l.f);
  const double s_high = l.f / below.high;
  const Pair back = product_of(s_high, below.high);
  const Pair s = {s_high, (((l.f - back.high) - back.low) - s_high * below.low) / below.high};
  const Pair z = product_of(s, s);
  const Pair rest = sum_of_sorted(0.6666666666666666, z.high * pow_rest(z.high));
  const Pair factor = {rest.high, rest.low + (3.700743415417188e-17 + 0.4 * z.low)};
  const Pair more = product_of(z, factor);
  const Pair two = sum_of_sorted(2., more.high);
  const Pair log =
      product_of(product_of(s, {two.high, two.low + more.low}), {1.4426950408889634, 2.0355273740931033e-17});
  const Pair sum = sum_of_sorted(l.n, log.high);
  return {sum.high, sum.low + log.low};
}

// x^y of an x that is not negative and a y that is not infinite.
OB_ALWAYS_INLINE double pow_of_magnitude(double x, double y) {
  const Pair log = log2_of_positive(x);
  const Pair product = product_of(y, log_or_limit(x, log.high));
  const double power = at_least(at_most(product.high, Format<double>::largest_exp2), Format<double>::least_exp2);
  // One condition inside another, for g++ keeps loops scalar that join them.
  const double of_finite = x < std::numeric_limits<double>::infinity() ? product.low + y * log.low : 0.;
  const double of_plain = x > 0. ? of_finite : 0.;
  const double low = power == product.high ? of_plain : 0.;
  const double n = nearest(power), r = ((power - n) + low) * 0.6931471805599453;
  return times_power_of_two(1. + (r + r * r * exp_rest(r)), n);
}

OB_ALWAYS_INLINE float pow_of_magnitude(float x, float y) {
  return static_cast<float>(exp2(double(y) * log2(double(x))));
}

// The sign of a power of a negative base: 1, -1, or NaN if there is no such power.
template <class T>
OB_ALWAYS_INLINE T sign_of_power(T base, T y) {
  const T no_fraction(Bits<T>(1) << Format<T>::digits);
  const T a = at_most(magnitude(y), T(2) * no_fraction), half = T(0.5) * a;
  const T whole = a < no_fraction ? nearest_positive(a) : a;
  const T of_finite = base > T(0) ? std::numeric_limits<T>::quiet_NaN() : T(1);
  const T broken = base < std::numeric_limits<T>::infinity() ? of_finite : T(1);
  const T odd = whole == a ? T(-1) : broken;
  return T(2) * nearest_positive(half) == a ? T(1) : odd;
}

template <class T>
OB_ALWAYS_INLINE T pow(T x, T y) {
  const T a = magnitude(x);
  // A larger power of anything but 1 is infinite or zero too, and its product could be none.
  const T value = pow_of_magnitude(a, at_least(at_most(y, T(1e30)), T(-1e30)));
  const T negative = value * sign_of_power(a, y);
  const T real = with_sign_of(T(1), x) < T(0) ? negative : value;
  // Even where the other is not a number.
  const T to_nothing = y == T(0) ? T(1) : real;
  return x == T(1) ? T(1) : to_nothing;
}

}  // namespace detail
}  // namespace ob
#endif
