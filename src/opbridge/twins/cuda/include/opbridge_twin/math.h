// CUDA's mathematical functions beyond those of <math.h>.
//
// Fast functions such as __expf are as precise as the others, so results are within the error of a GPU.
#ifndef OPBRIDGE_TWIN_MATH_H
#define OPBRIDGE_TWIN_MATH_H

#include <math.h>
#include <opbridge_twin/minmax.h>
#include <opbridge_twin/thread.h>
#include <stdlib.h>

namespace opbridge_twin {

constexpr double kPi = 3.141592653589793238462643383279502884;
constexpr double kSqrtHalf = 0.707106781186547524400844362104849039;

// sin and cos of pi*x, exact where x is a multiple of one half.
inline double sine_of_pi(double x) {
  const double part = x - 2.0 * floor(0.5 * x);  // in [0, 2)
  if (part == 0.0 || part == 1.0) return copysign(0.0, x);
  if (part < 0.25) return sin(kPi * part);
  if (part < 0.75) return cos(kPi * (part - 0.5));
  if (part < 1.25) return sin(kPi * (1.0 - part));
  if (part < 1.75) return -cos(kPi * (part - 1.5));
  return sin(kPi * (part - 2.0));
}
inline double cosine_of_pi(double x) {
  const double part = fabs(x) - 2.0 * floor(0.5 * fabs(x));
  if (part == 0.5 || part == 1.5) return 0.0;
  if (part < 0.25) return cos(kPi * part);
  if (part < 0.75) return sin(kPi * (0.5 - part));
  if (part < 1.25) return -cos(kPi * (part - 1.0));
  if (part < 1.75) return sin(kPi * (part - 1.5));
  return cos(kPi * (part - 2.0));
}

// The quantile of the normal distribution: a rational approximation (P. Acklam's), and two steps of Halley's method.
inline double normal_quantile(double p) {
  if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -HUGE_VAL : p == 1.0 ? HUGE_VAL : NAN;
  if (p > 0.5) return p > 1.0 - 1e-300 ? HUGE_VAL : -normal_quantile(1.0 - p);
  double x;
  if (p < 0.02425) {
    const double q = sqrt(-2.0 * log(p));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1.0);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
           1.383577518672690e+02) *
              r -
          3.066479806614716e+01) *
             r +
         2.506628277459239e+00) *
        q /
        (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
           6.680131188771972e+01) *
              r -
          1.328068155288572e+01) *
             r +
         1.0);
  }
  for (int step = 0; step < 2; ++step) {
    const double error = 0.5 * erfc(-x * kSqrtHalf) - p;
    const double u = error * sqrt(2.0 * kPi) * exp(0.5 * x * x);
    x -= u / (1.0 + 0.5 * x * u);
  }
  return x;
}

inline double inverse_error_function(double y) {
  if (fabs(y) < 1e-8) return y / (2.0 / sqrt(kPi));
  if (fabs(y) >= 1.0) return fabs(y) == 1.0 ? copysign(HUGE_VAL, y) : NAN;
  double x = -kSqrtHalf * normal_quantile(0.5 * (1.0 - fabs(y)));
  x = fabs(x);
  for (int step = 0; step < 2; ++step) {
    // From the side where nothing cancels.
    const double error = fabs(y) < 0.5 ? erf(x) - fabs(y) : (1.0 - fabs(y)) - erfc(x);
    const double u = error * 0.5 * sqrt(kPi) * exp(x * x);
    x -= u / (1.0 + x * u);
  }
  return copysign(x, y);
}

// exp(x*x) * erfc(x): for large x by its continued fraction, which converges quickly there.
inline double scaled_erfc(double x) {
  if (x < 10.0) return exp(x * x) * erfc(x);
  double tail = x;
  for (int k = 40; k > 0; --k) tail = x + 0.5 * k / tail;
  return 1.0 / (sqrt(kPi) * tail);
}

// The modified Bessel functions of order 0 and 1, by their power series or, from where that is long, asymptotically.
inline double bessel_i(int order, double x) {
  const double a = fabs(x);
  double sum;
  if (a < 30.0) {
    double term = order == 0 ? 1.0 : 0.5 * a;
    sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-17; ++k) {
      term *= 0.25 * a * a / (static_cast<double>(k) * (k + order));
      sum += term;
    }
  } else {
    double term = 1.0, series = 1.0;
    const double mu = 4.0 * order * order;
    for (int k = 1; k < 30; ++k) {
      const double odd = 2.0 * k - 1.0;
      term *= -(mu - odd * odd) / (8.0 * k * a);
      series += term;
    }
    sum = exp(a - 0.5 * log(2.0 * kPi * a)) * series;
  }
  return order == 1 && x < 0.0 ? -sum : sum;
}

}  // namespace opbridge_twin

// A function of doubles, the float function of the same name with an f, and the overload for floats.
#define OB_TWIN_UNARY(name, expression)               \
  inline double name(double x) { return expression; } \
  inline float name##f(float given) {                 \
    const double x = given;                           \
    return static_cast<float>(expression);            \
  }                                                   \
  inline float name(float x) { return name##f(x); }
OB_TWIN_UNARY(rsqrt, 1.0 / sqrt(x))
OB_TWIN_UNARY(rcbrt, 1.0 / cbrt(x))
OB_TWIN_UNARY(sinpi, opbridge_twin::sine_of_pi(x))
OB_TWIN_UNARY(cospi, opbridge_twin::cosine_of_pi(x))
OB_TWIN_UNARY(erfinv, opbridge_twin::inverse_error_function(x))
OB_TWIN_UNARY(erfcinv, -opbridge_twin::kSqrtHalf* opbridge_twin::normal_quantile(0.5 * x))
OB_TWIN_UNARY(erfcx, opbridge_twin::scaled_erfc(x))
OB_TWIN_UNARY(normcdf, 0.5 * erfc(-x * opbridge_twin::kSqrtHalf))
OB_TWIN_UNARY(normcdfinv, opbridge_twin::normal_quantile(x))
OB_TWIN_UNARY(cyl_bessel_i0, opbridge_twin::bessel_i(0, x))
OB_TWIN_UNARY(cyl_bessel_i1, opbridge_twin::bessel_i(1, x))
#undef OB_TWIN_UNARY

// The C library has it for each type by another name only.
inline float exp10(float x) { return exp10f(x); }

inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

inline double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
inline float rhypotf(float x, float y) { return static_cast<float>(1.0 / hypot(double(x), double(y))); }
inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
inline float norm3df(float a, float b, float c) {
  return static_cast<float>(sqrt(double(a) * a + double(b) * b + double(c) * c));
}
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline float rnorm3df(float a, float b, float c) { return static_cast<float>(1.0 / norm3d(a, b, c)); }
inline double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
inline float norm4df(float a, float b, float c, float d) { return static_cast<float>(norm4d(a, b, c, d)); }
inline double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
inline float rnorm4df(float a, float b, float c, float d) { return static_cast<float>(1.0 / norm4d(a, b, c, d)); }
inline double norm(int count, const double* values) {
  double total = 0.0;
  for (int i = 0; i < count; ++i) total = hypot(total, values[i]);
  return total;
}
inline float normf(int count, const float* values) {
  double total = 0.0;
  for (int i = 0; i < count; ++i) total += double(values[i]) * values[i];
  return static_cast<float>(sqrt(total));
}
inline double rnorm(int count, const double* values) { return 1.0 / norm(count, values); }
inline float rnormf(int count, const float* values) { return 1.0f / normf(count, values); }

inline float fdividef(float x, float y) { return x / y; }
inline float fdivide(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }

OB_TWIN_INLINE float __sinf(float x) { return sinf(x); }
OB_TWIN_INLINE float __cosf(float x) { return cosf(x); }
OB_TWIN_INLINE float __tanf(float x) { return tanf(x); }
OB_TWIN_INLINE void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
OB_TWIN_INLINE float __expf(float x) { return expf(x); }
OB_TWIN_INLINE float __exp10f(float x) { return exp10f(x); }
OB_TWIN_INLINE float __exp2f(float x) { return exp2f(x); }
OB_TWIN_INLINE float __logf(float x) { return logf(x); }
OB_TWIN_INLINE float __log2f(float x) { return log2f(x); }
OB_TWIN_INLINE float __log10f(float x) { return log10f(x); }
OB_TWIN_INLINE float __powf(float x, float y) { return powf(x, y); }
OB_TWIN_INLINE float __tanhf(float x) { return tanhf(x); }
OB_TWIN_INLINE float __fdividef(float x, float y) { return x / y; }
OB_TWIN_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

#endif
