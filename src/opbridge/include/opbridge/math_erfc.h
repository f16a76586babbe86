// ob::erfc; see math_exp.h.
#ifndef OPBRIDGE_MATH_ERFC_H
#define OPBRIDGE_MATH_ERFC_H

#include <opbridge/math_exp.h>
#include <opbridge/math_pairs.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// e^(-x^2) * (1 + rest) / (1 + 2x), with what rounding leaves of the square and of the ratio.
OB_ALWAYS_INLINE double erfc(double x) {
  const double a = at_most(magnitude(x), 28.);
  const Pair square = product_of(a, a);
  const auto e = exponential(-square.high);
  const double lost = e.lost - square.low, power = (e.r + e.rest) + lost * (1. + (e.r + e.rest));
  const double rest = erfcx_rest((a - 4.) / (a + 4.)), up = 1. + rest, up_lost = rest - (up - 1.);
  const Pair down = sum_of(1., 2. * a);
  const double ratio = up / down.high;
  const Pair back = product_of(ratio, down.high);
  const double ratio_lost = (((up - back.high) - back.low) + (up_lost - ratio * down.low)) / down.high;
  const double far = times_power_of_two(ratio + (ratio * power + ratio_lost * (1. + power)), e.n);
  const double near = 1. - (x + x * erf_rest(x * x)), of_far = x < 0. ? 2. - far : far;
  return a < 0.5 ? near : of_far;
}

// A double has digits enough for what rounding leaves.
OB_ALWAYS_INLINE float erfc(float x) {
  const float a = at_most(magnitude(x), 11.f), rest = erfcx_rest((a - 4.f) / (a + 4.f));
  const double power = exp(-(double(a) * double(a)));
  const float far = static_cast<float>(power * ((1. + double(rest)) / (1. + 2. * double(a))));
  const float near = 1.f - (x + x * erf_rest(x * x)), of_far = x < 0.f ? 2.f - far : far;
  return a < 0.5f ? near : of_far;
}

}  // namespace detail
}  // namespace ob
#endif
