// Numbers as the sum of two doubles, for what needs more than one.
//
// Reference: Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
#ifndef OPBRIDGE_MATH_PAIRS_H
#define OPBRIDGE_MATH_PAIRS_H

#include <opbridge/dtype.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// high + low, where high is what rounding leaves of the sum
struct Pair {
  double high, low;
};

// Exact: Knuth, The Art of Computer Programming, volume 2, section 4.2.2, theorem B.
OB_ALWAYS_INLINE Pair sum_of(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// Exact, where |a| is not below |b| or a is zero.
OB_ALWAYS_INLINE Pair sum_of_sorted(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// Exact, unless the product leaves the range of doubles.
OB_ALWAYS_INLINE Pair product_of(double a, double b) {
  const double product = a * b;
#if defined(__FMA__) || defined(__aarch64__)
  return {product, __builtin_fma(a, b, -product)};
#else
  // Halves of 26 bits, whose products are exact: Veltkamp's splitting, by 2^27 + 1.
  const double a_far = a * 134217729., b_far = b * 134217729.;
  const double a_high = a_far - (a_far - a), b_high = b_far - (b_far - b);
  const double a_low = a - a_high, b_low = b - b_high;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
#endif
}

// Rounded to twice a double's digits, nearly.
OB_ALWAYS_INLINE Pair product_of(Pair a, Pair b) {
  const Pair product = product_of(a.high, b.high);
  return {product.high, product.low + (a.high * b.low + a.low * b.high)};
}

}  // namespace detail
}  // namespace ob
#endif
