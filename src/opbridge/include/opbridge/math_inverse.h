// The functions of opbridge/math.h that use inverse sines and hyperbolic functions; see math_exp.h.  Floats are
// computed in double.
#ifndef OPBRIDGE_MATH_INVERSE_H
#define OPBRIDGE_MATH_INVERSE_H

#include <opbridge/math_log.h>
#include <opbridge/math_pairs.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

constexpr double half_pi = 1.5707963267948966;

// asin(x) = root + rest for an x up to 1/2, and half of acos(x) beyond; root is none where |x| is above 1.
struct Arc {
  bool is_far;
  double root, rest;
};

OB_ALWAYS_INLINE Arc arc(double x) {
  const double a = magnitude(x);
  const bool is_far = a > 0.5;
  const double z = is_far ? 0.5 * (1. - a) : a * a;
  const double root = is_far ? __builtin_sqrt(z) : a;
  const double t = root == 0. ? 1. : root;
  const Pair square = product_of(t, t);
  const double lost = is_far && root != 0. ? ((z - square.high) - square.low) * (0.5 / t) : 0.;
  return {is_far, root, lost + root * z * asin_rest(z)};
}

OB_ALWAYS_INLINE double asin(double x) {
  const Arc part = arc(x);
  const Pair left = sum_of_sorted(half_pi, -2. * part.root);
  const double far = left.high + ((left.low + Format<double>::half_pi_low) - 2. * part.rest);
  return with_sign_of(part.is_far ? far : part.root + part.rest, x);
}

OB_ALWAYS_INLINE double acos(double x) {
  const Arc part = arc(x);
  const double near = with_sign_of(part.root + part.rest, x), twice = 2. * (part.root + part.rest);
  const double left = 2. * half_pi - (twice - 2. * Format<double>::half_pi_low);
  const double far = x < 0. ? left : twice;
  return part.is_far ? far : half_pi - (near - Format<double>::half_pi_low);
}

// log(1 + x) + more, of a pair that is not negative.
OB_ALWAYS_INLINE double log1p_of_positive(Pair x, double more) {
  const double u = 1. + x.high;
  const double lost = (x.high < 1. ? x.high - (u - 1.) : 1. - (u - x.high)) + x.low;
  return log_or_limit(u, log_of_positive(u, lost / u + more));
}

// From here on 1 is negligible next to x, whose square would soon overflow.
constexpr double large_cosine = 1e17, ln2 = 0.6931471805599453;

OB_ALWAYS_INLINE double asinh(double x) {
  const double a = magnitude(x);
  const bool is_large = a > large_cosine;
  const double b = is_large ? 0. : a;
  const Pair sum = sum_of(a, b * b / (1. + __builtin_sqrt(1. + b * b)));
  const double log = log1p_of_positive(sum, is_large ? ln2 : 0.);
  // The square of what is tiny would be denormal.
  return with_sign_of(a < 1e-9 ? a : log, x);
}

OB_ALWAYS_INLINE double acosh(double x) {
  const double t = x - 1.;
  const bool is_large = t > large_cosine;
  // The root of (x - 1) * (x + 1), and what rounding leaves of it.
  const double b = is_large ? 0. : t;
  const Pair square = product_of({b, 0.}, sum_of(b, 2.));
  const double root = __builtin_sqrt(square.high), divisor = root == 0. ? 1. : root;
  const Pair back = product_of(root, root);
  const Pair sum = sum_of(t, root);
  const double lost = (((square.high - back.high) - back.low) + square.low) * (0.5 / divisor);
  const double log = log1p_of_positive({sum.high, sum.low + lost}, is_large ? ln2 : 0.);
  return x < 1. ? std::numeric_limits<double>::quiet_NaN() : log;
}

OB_ALWAYS_INLINE double atanh(double x) {
  const double a = magnitude(x), b = a < 1. ? a : 0.5;
  // 2x / (1 - x), and what rounding leaves of it.
  const Pair down = sum_of_sorted(1., -b);
  const double ratio = 2. * b / down.high;
  const Pair back = product_of(ratio, down.high);
  const double lost = (((2. * b - back.high) - back.low) - ratio * down.low) / down.high;
  const double log = 0.5 * log1p_of_positive({ratio, lost}, 0.);
  const double infinity = std::numeric_limits<double>::infinity();
  const double beyond = a == 1. ? infinity : std::numeric_limits<double>::quiet_NaN();
  const double value = a < 1. ? log : beyond;
  // Return tiny arguments unchanged: their products would be denormal.
  return with_sign_of(a < 1e-9 ? a : value, x);
}

OB_ALWAYS_INLINE float asin(float x) { return static_cast<float>(asin(double(x))); }
OB_ALWAYS_INLINE float acos(float x) { return static_cast<float>(acos(double(x))); }

// A double has digits enough for what rounding leaves, and no square of a float is too large for it.
OB_ALWAYS_INLINE float asinh(float x) {
  const double a = magnitude(double(x)), log = log1p(a + (__builtin_sqrt(a * a + 1.) - 1.));
  return with_sign_of(static_cast<float>(a < 1e-4 ? a : log), x);
}
OB_ALWAYS_INLINE float acosh(float x) {
  const double t = double(x) - 1., log = log1p(t + __builtin_sqrt(t * (t + 2.)));
  return static_cast<float>(t < 0. ? std::numeric_limits<double>::quiet_NaN() : log);
}
OB_ALWAYS_INLINE float atanh(float x) {
  const double a = magnitude(double(x));
  return with_sign_of(static_cast<float>(0.5 * log1p(2. * a / (1. - a))), x);
}

}  // namespace detail
}  // namespace ob
#endif
