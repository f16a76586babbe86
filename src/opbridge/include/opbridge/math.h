// Functions for loops: branch-free, so that the compiler makes vector code of the loop around them, on any processor.
//
//   ob::parallel_for(x.numel(), [=](int64_t i) { out[i] = x[i] * ob::sigmoid(x[i]); });
//
// Of float and double, at most 2 units in the last place from the exact value, and right at infinities, NaN, signed
// zeros and denormals; a half or bfloat16 is taken as the float it is.
#ifndef OPBRIDGE_MATH_H
#define OPBRIDGE_MATH_H

#include <opbridge/half.h>

#if defined(__CUDACC__) && !defined(__OPBRIDGE_CUDA_TWIN__)
// CUDA's own, which a GPU has no better ones than.
#define OB_UNARY(name)                                               \
  OB_HOST_DEVICE inline float name(float x) { return ::name##f(x); } \
  OB_HOST_DEVICE inline double name(double x) { return ::name(x); }
#define OB_BINARY(name)                                                          \
  OB_HOST_DEVICE inline float name(float x, float y) { return ::name##f(x, y); } \
  OB_HOST_DEVICE inline double name(double x, double y) { return ::name(x, y); }
#else
#include <opbridge/math_erfc.h>
#include <opbridge/math_exp.h>
#include <opbridge/math_inverse.h>
#include <opbridge/math_log.h>
#include <opbridge/math_pow.h>
#include <opbridge/math_roots.h>
#include <opbridge/math_trig.h>
#define OB_UNARY(name)                                             \
  OB_ALWAYS_INLINE float name(float x) { return detail::name(x); } \
  OB_ALWAYS_INLINE double name(double x) { return detail::name(x); }
#define OB_BINARY(name)                                                        \
  OB_ALWAYS_INLINE float name(float x, float y) { return detail::name(x, y); } \
  OB_ALWAYS_INLINE double name(double x, double y) { return detail::name(x, y); }
#endif

// Functions that the C library also has.
#define OB_FOR_EACH_UNARY(with)                                                                                       \
  with(exp) with(exp2) with(expm1) with(log) with(log2) with(log10) with(log1p) with(sin) with(cos) with(tan)         \
      with(asin) with(acos) with(atan) with(sinh) with(cosh) with(tanh) with(asinh) with(acosh) with(atanh) with(erf) \
          with(erfc) with(cbrt)

namespace ob {

OB_FOR_EACH_UNARY(OB_UNARY)
OB_BINARY(atan2)
OB_BINARY(hypot)

OB_HOST_DEVICE inline float rsqrt(float x) { return 1.f / __builtin_sqrtf(x); }
OB_HOST_DEVICE inline double rsqrt(double x) { return 1. / __builtin_sqrt(x); }

#if defined(__CUDACC__) && !defined(__OPBRIDGE_CUDA_TWIN__)
OB_HOST_DEVICE inline float sigmoid(float x) { return 1.f / (1.f + ::expf(-x)); }
OB_HOST_DEVICE inline double sigmoid(double x) { return 1. / (1. + ::exp(-x)); }
namespace [[gnu::visibility("hidden")]] detail {
OB_BINARY(pow)
}
#else
OB_UNARY(sigmoid)
#endif

// Computes in double if either argument is a double, or neither is floating-point: the square of a float is a float.
template <class A, class B>
OB_ALWAYS_INLINE auto pow(A x, B y) {
  constexpr bool is_double = std::is_same<A, double>::value || std::is_same<B, double>::value;
  constexpr bool is_whole = std::is_integral<A>::value && std::is_integral<B>::value;
  using T = std::conditional_t<is_double || is_whole, double, float>;
  const T exponent = static_cast<T>(y);
#if !defined(__CUDACC__) || defined(__OPBRIDGE_CUDA_TWIN__)
  if (__builtin_constant_p(exponent) && exponent == T(2)) return static_cast<T>(x) * static_cast<T>(x);
#endif
  return detail::pow(static_cast<T>(x), exponent);
}

}  // namespace ob

#undef OB_UNARY
#undef OB_BINARY
#endif
