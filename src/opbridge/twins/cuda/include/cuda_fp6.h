// __nv_fp6_e2m3, __nv_fp6_e3m2, their pairs and fours: six bits of a byte, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP6_H
#define OPBRIDGE_TWIN_CUDA_FP6_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned __nv_fp6x4_storage_t;
// One byte of storage means either, so every conversion is told which.
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };

namespace opbridge_twin {

// Neither an infinity nor something that is no number, which becomes the largest.
struct Fp6Format {
  int digits;  // of the fraction
  int bias;
};
constexpr unsigned char kFp6Most = 0x1f, kFp6Sign = 0x20;

OB_TWIN_INLINE constexpr Fp6Format fp6_format(__nv_fp6_interpretation_t kind) {
  return kind == __NV_E2M3 ? Fp6Format{3, 1} : Fp6Format{2, 3};
}

OB_TWIN_INLINE unsigned char narrow_fp6(double value, __nv_fp6_interpretation_t kind, cudaRoundMode rounding) {
  const Fp6Format format = fp6_format(kind);
  if (value != value) return kFp6Most;
  const unsigned char sign = __builtin_signbit(value) ? kFp6Sign : 0;
  const double size = fabs(value);
  const int least = 1 - format.bias, most = (kFp6Most >> format.digits) - format.bias;
  if (size >= ldexp(2, most)) return sign | kFp6Most;
  int exponent = size == 0 ? least : ilogb(size);
  if (exponent < least) exponent = least;
  // In units of the last digit; a carry into the exponent is what the sum does by itself.
  const double units = ldexp(size, format.digits - exponent);
  const unsigned whole = static_cast<unsigned>(rounding == cudaRoundZero ? units : nearbyint(units));
  const unsigned bits = (static_cast<unsigned>(exponent - least) << format.digits) + whole;
  return static_cast<unsigned char>(sign | (bits < kFp6Most ? bits : kFp6Most));
}

OB_TWIN_INLINE float widen_fp6(unsigned bits, __nv_fp6_interpretation_t kind) {
  const Fp6Format format = fp6_format(kind);
  const unsigned exponent = (bits & kFp6Most) >> format.digits, fraction = bits & ((1u << format.digits) - 1);
  const unsigned units = exponent == 0 ? fraction : fraction | 1u << format.digits;
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias - format.digits;
  const float size = ldexpf(static_cast<float>(units), scale);
  return (bits & kFp6Sign) != 0 ? -size : size;
}

}  // namespace opbridge_twin

OB_TWIN_INLINE __nv_fp6_storage_t __nv_cvt_double_to_fp6(double x, __nv_fp6_interpretation_t kind,
                                                         cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp6(x, kind, rounding);
}
OB_TWIN_INLINE __nv_fp6_storage_t __nv_cvt_float_to_fp6(float x, __nv_fp6_interpretation_t kind,
                                                        cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp6(x, kind, rounding);
}
OB_TWIN_INLINE __nv_fp6_storage_t __nv_cvt_halfraw_to_fp6(__half_raw x, __nv_fp6_interpretation_t kind,
                                                          cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp6(static_cast<float>(__half(x)), kind, rounding);
}
OB_TWIN_INLINE __nv_fp6_storage_t __nv_cvt_bfloat16raw_to_fp6(__nv_bfloat16_raw x, __nv_fp6_interpretation_t kind,
                                                              cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp6(static_cast<float>(__nv_bfloat16(x)), kind, rounding);
}
OB_TWIN_INLINE __nv_fp6x2_storage_t __nv_cvt_double2_to_fp6x2(double2 x, __nv_fp6_interpretation_t kind,
                                                              cudaRoundMode rounding) {
  return static_cast<__nv_fp6x2_storage_t>(opbridge_twin::narrow_fp6(x.x, kind, rounding) |
                                           opbridge_twin::narrow_fp6(x.y, kind, rounding) << 8);
}
OB_TWIN_INLINE __nv_fp6x2_storage_t __nv_cvt_float2_to_fp6x2(float2 x, __nv_fp6_interpretation_t kind,
                                                             cudaRoundMode rounding) {
  return __nv_cvt_double2_to_fp6x2(double2{x.x, x.y}, kind, rounding);
}
OB_TWIN_INLINE __nv_fp6x2_storage_t __nv_cvt_halfraw2_to_fp6x2(__half2_raw x, __nv_fp6_interpretation_t kind,
                                                               cudaRoundMode rounding) {
  const __half2 pair(x);
  return __nv_cvt_double2_to_fp6x2(double2{pair.x, pair.y}, kind, rounding);
}
OB_TWIN_INLINE __nv_fp6x2_storage_t __nv_cvt_bfloat16raw2_to_fp6x2(__nv_bfloat162_raw x, __nv_fp6_interpretation_t kind,
                                                                   cudaRoundMode rounding) {
  const __nv_bfloat162 pair(x);
  return __nv_cvt_double2_to_fp6x2(double2{pair.x, pair.y}, kind, rounding);
}
OB_TWIN_INLINE __half_raw __nv_cvt_fp6_to_halfraw(__nv_fp6_storage_t x, __nv_fp6_interpretation_t kind) {
  return __half(opbridge_twin::widen_fp6(x, kind));
}
OB_TWIN_INLINE __half2_raw __nv_cvt_fp6x2_to_halfraw2(__nv_fp6x2_storage_t x, __nv_fp6_interpretation_t kind) {
  return __half2(__half(opbridge_twin::widen_fp6(x, kind)), __half(opbridge_twin::widen_fp6(x >> 8, kind)));
}

namespace opbridge_twin {

// Without arithmetic, as on a GPU: it is converted and computed with in a wider type.
template <__nv_fp6_interpretation_t kKind>
struct Fp6 {
  __nv_fp6_storage_t __x;

  Fp6() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  OB_TWIN_INLINE explicit Fp6(T value) : __x(narrow_fp6(static_cast<double>(value), kKind, cudaRoundNearest)) {}
  OB_TWIN_INLINE explicit Fp6(__half value) : Fp6(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit Fp6(__nv_bfloat16 value) : Fp6(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit operator float() const { return widen_fp6(__x, kKind); }
  OB_TWIN_INLINE explicit operator double() const { return widen_fp6(__x, kKind); }
  OB_TWIN_INLINE explicit operator __half() const { return __half(widen_fp6(__x, kKind)); }
  OB_TWIN_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(widen_fp6(__x, kKind)); }
  OB_TWIN_INLINE explicit operator bool() const { return (__x & kFp6Most) != 0; }
};

// Two, the first in the lower byte, so that one access of memory moves both.
template <__nv_fp6_interpretation_t kKind>
struct Fp6Pair {
  __nv_fp6x2_storage_t __x;

  Fp6Pair() = default;
  OB_TWIN_INLINE explicit Fp6Pair(double2 value) : __x(__nv_cvt_double2_to_fp6x2(value, kKind, cudaRoundNearest)) {}
  OB_TWIN_INLINE explicit Fp6Pair(float2 value) : Fp6Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit Fp6Pair(__half2 value) : Fp6Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit Fp6Pair(__nv_bfloat162 value) : Fp6Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit operator float2() const { return {widen_fp6(__x, kKind), widen_fp6(__x >> 8, kKind)}; }
  OB_TWIN_INLINE explicit operator __half2() const { return __half2(__nv_cvt_fp6x2_to_halfraw2(__x, kKind)); }
};

// Two pairs, the lower first.
template <__nv_fp6_interpretation_t kKind>
struct Fp6Four {
  __nv_fp6x4_storage_t __x;

  Fp6Four() = default;
  OB_TWIN_INLINE Fp6Four(double2 low, double2 high)
      : __x(Fp6Pair<kKind>(low).__x | static_cast<unsigned>(Fp6Pair<kKind>(high).__x) << 16) {}
  OB_TWIN_INLINE explicit Fp6Four(double4 value) : Fp6Four(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit Fp6Four(float4 value) : Fp6Four(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit Fp6Four(__half2 low, __half2 high)
      : Fp6Four(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit Fp6Four(__nv_bfloat162 low, __nv_bfloat162 high)
      : Fp6Four(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit operator float4() const {
    return {widen_fp6(__x, kKind), widen_fp6(__x >> 8, kKind), widen_fp6(__x >> 16, kKind),
            widen_fp6(__x >> 24, kKind)};
  }
};

}  // namespace opbridge_twin

#define OB_TWIN_FP6(name, Base, bytes)                                                  \
  struct __attribute__((aligned(bytes))) name##_e2m3 : opbridge_twin::Base<__NV_E2M3> { \
    using Base::Base;                                                                   \
    name##_e2m3() = default;                                                            \
  };                                                                                    \
  struct __attribute__((aligned(bytes))) name##_e3m2 : opbridge_twin::Base<__NV_E3M2> { \
    using Base::Base;                                                                   \
    name##_e3m2() = default;                                                            \
  };
OB_TWIN_FP6(__nv_fp6, Fp6, 1)
OB_TWIN_FP6(__nv_fp6x2, Fp6Pair, 2)
OB_TWIN_FP6(__nv_fp6x4, Fp6Four, 4)
#undef OB_TWIN_FP6

#endif
