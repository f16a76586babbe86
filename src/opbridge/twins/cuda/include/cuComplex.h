// Complex numbers as pairs, from before C++ had them on a GPU.
#ifndef OPBRIDGE_TWIN_CU_COMPLEX_H
#define OPBRIDGE_TWIN_CU_COMPLEX_H
#define CU_COMPLEX_H_  // how programs ask whether it is included

#include <math.h>
#include <vector_types.h>

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// The quotient is scaled by the larger part of the divisor, so that no step overflows where the result does not.
#define OB_TWIN_COMPLEX(Complex, Real, suffix, make, conj, real_of, imag_of, absolute, fused, hypotenuse) \
  static inline Complex make(Real x, Real y) {                                                            \
    Complex z;                                                                                            \
    z.x = x;                                                                                              \
    z.y = y;                                                                                              \
    return z;                                                                                             \
  }                                                                                                       \
  static inline Real real_of(Complex z) { return z.x; }                                                   \
  static inline Real imag_of(Complex z) { return z.y; }                                                   \
  static inline Complex conj(Complex z) { return make(z.x, -z.y); }                                       \
  static inline Complex cuCadd##suffix(Complex a, Complex b) { return make(a.x + b.x, a.y + b.y); }       \
  static inline Complex cuCsub##suffix(Complex a, Complex b) { return make(a.x - b.x, a.y - b.y); }       \
  static inline Complex cuCmul##suffix(Complex a, Complex b) {                                            \
    return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                            \
  }                                                                                                       \
  static inline Complex cuCdiv##suffix(Complex a, Complex b) {                                            \
    const Real larger = (b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y);                                  \
    const Real ax = a.x / larger, ay = a.y / larger, bx = b.x / larger, by = b.y / larger;                \
    const Real square = bx * bx + by * by;                                                                \
    return make((ax * bx + ay * by) / square, (ay * bx - ax * by) / square);                              \
  }                                                                                                       \
  static inline Complex fused(Complex a, Complex b, Complex c) {                                          \
    return make((a.x * b.x + c.x) - a.y * b.y, (a.x * b.y + c.y) + a.y * b.x);                            \
  }                                                                                                       \
  static inline Real absolute(Complex z) { return hypotenuse(z.x, z.y); }
OB_TWIN_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, cuConjf, cuCrealf, cuCimagf, cuCabsf, cuCfmaf, hypotf)
OB_TWIN_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, cuConj, cuCreal, cuCimag, cuCabs, cuCfma, hypot)
#undef OB_TWIN_COMPLEX

static inline cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_cuFloatComplex((float)z.x, (float)z.y);
}
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return make_cuDoubleComplex(z.x, z.y); }

#endif
