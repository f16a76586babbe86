// The functions of opbridge/math.h that use roots; see math_exp.h.  Floats are computed in double.
#ifndef OPBRIDGE_MATH_ROOTS_H
#define OPBRIDGE_MATH_ROOTS_H

#include <opbridge/math_exp.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

OB_ALWAYS_INLINE double cbrt(double x) {
  const double a = magnitude(x), infinity = std::numeric_limits<double>::infinity();
  const bool is_plain = a > 0. && a < infinity, is_denormal = a < Format<double>::smallest_normal;
  // The argument of a denormal is scaled, which makes the root 2^18 times as large.
  const double normal = is_plain ? (is_denormal ? a * 18014398509481984. : a) : 1.;
  const double exponent = bits_as<double>((bits_as<uint64_t>(normal) >> 52) | bits_as<uint64_t>(4503599627370496.)) -
                          (4503599627370496. + 1023.);
  const double third = nearest(exponent * (1. / 3.));
  const double part = bits_as<double>((bits_as<uint64_t>(normal) & 0xfffffffffffff) | bits_as<uint64_t>(1.));
  const double m = part * power_of_two(exponent - 3. * third);
  // Start from a line through 1/2 and 4.  Each of Halley's steps triples the digits; the last step is Newton's.
  double root = 0.75 + 0.22 * m;
  for (int step = 0; step < 2; ++step) {
    const double cube = root * root * root;
    root *= (cube + 2. * m) / (2. * cube + m);
  }
  root += (m - root * root * root) / (3. * root * root);
  const double value = root * power_of_two(third) * (is_denormal ? 1. / 262144. : 1.);
  return is_plain ? with_sign_of(value, x) : x;
}

OB_ALWAYS_INLINE double hypot(double x, double y) {
  const double a = magnitude(x), b = magnitude(y), infinity = std::numeric_limits<double>::infinity();
  // Squares must stay in range.
  const double most = a > b ? a : b;
  const bool is_huge = most > 1e150, is_tiny = most < 1e-140;
  const double scale = is_huge ? 0x1p-600 : (is_tiny ? 0x1p600 : 1.), back = is_huge ? 0x1p600 : 0x1p-600;
  const double c = a * scale, d = b * scale;
  const double root = __builtin_sqrt(c * c + d * d), value = is_huge || is_tiny ? root * back : root;
  const double of_infinite = a == infinity ? a : b;
  return a == infinity || b == infinity ? of_infinite : value;
}

OB_ALWAYS_INLINE float cbrt(float x) { return static_cast<float>(cbrt(double(x))); }
OB_ALWAYS_INLINE float hypot(float x, float y) { return static_cast<float>(hypot(double(x), double(y))); }

}  // namespace detail
}  // namespace ob
#endif
