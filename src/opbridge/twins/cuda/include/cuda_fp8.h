// __nv_fp8_e4m3, __nv_fp8_e5m2, their pairs and fours: eight bits in memory, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP8_H
#define OPBRIDGE_TWIN_CUDA_FP8_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
// Whether a value that is too large becomes the largest, or what overflow gives.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
// One byte of storage means either, so every conversion is told which.
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace opbridge_twin {

// Four bits of exponent and no infinity, or five and one.
struct Fp8Format {
  int digits;  // of the fraction
  int bias;
  unsigned char most;      // finite, and beyond it …
  unsigned char overflow;  // … what stands for all that is too large
  double limit;  // from here on (e5m2) or above (e4m3), which is where halfway between two rounds to the even one
};
constexpr unsigned char kFp8Nan = 0x7f;

OB_TWIN_INLINE constexpr Fp8Format fp8_format(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? Fp8Format{3, 7, 0x7e, kFp8Nan, 464} : Fp8Format{2, 15, 0x7b, 0x7c, 61440};
}

OB_TWIN_INLINE unsigned char narrow_fp8(double value, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  const Fp8Format format = fp8_format(kind);
  if (value != value) return kFp8Nan;
  const unsigned char sign = __builtin_signbit(value) ? 0x80 : 0;
  const double size = fabs(value);
  if (kind == __NV_E4M3 ? size > format.limit : size >= format.limit) {
    return sign | (saturate == __NV_SATFINITE ? format.most : format.overflow);
  }
  const int least = 1 - format.bias;
  int exponent = size == 0 ? least : ilogb(size);
  if (exponent < least) exponent = least;
  // In units of the last digit; a carry into the exponent is what the sum does by itself.
  const unsigned units = static_cast<unsigned>(nearbyint(ldexp(size, format.digits - exponent)));
  const unsigned biased = static_cast<unsigned>(exponent - least);
  return static_cast<unsigned char>(sign | ((biased << format.digits) + units));
}

OB_TWIN_INLINE float widen_fp8(unsigned char bits, __nv_fp8_interpretation_t kind) {
  const Fp8Format format = fp8_format(kind);
  const unsigned size = bits & 0x7f, exponent = size >> format.digits, fraction = size & ((1u << format.digits) - 1);
  float value;
  if (kind == __NV_E4M3 ? size == kFp8Nan : size > format.overflow) {
    return __builtin_nanf("");
  } else if (kind == __NV_E5M2 && size == format.overflow) {
    value = __builtin_inff();
  } else {
    const unsigned units = exponent == 0 ? fraction : fraction | 1u << format.digits;
    const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias - format.digits;
    value = ldexpf(static_cast<float>(units), scale);
  }
  return bits & 0x80 ? -value : value;
}

}  // namespace opbridge_twin

OB_TWIN_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t kind) {
  return opbridge_twin::narrow_fp8(x, saturate, kind);
}
OB_TWIN_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                        __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, saturate, kind);
}
OB_TWIN_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                          __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__half(x), saturate, kind);
}
OB_TWIN_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                              __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturate, kind);
}
OB_TWIN_INLINE __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate,
                                                              __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_double_to_fp8(x.x, saturate, kind) |
                                           __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
OB_TWIN_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double2_to_fp8x2(double2{x.x, x.y}, saturate, kind);
}
OB_TWIN_INLINE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate,
                                                               __nv_fp8_interpretation_t kind) {
  const __half2 pair(x);
  return __nv_cvt_float2_to_fp8x2(float2{pair.x, pair.y}, saturate, kind);
}
OB_TWIN_INLINE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturate,
                                                                   __nv_fp8_interpretation_t kind) {
  const __nv_bfloat162 pair(x);
  return __nv_cvt_float2_to_fp8x2(float2{pair.x, pair.y}, saturate, kind);
}
OB_TWIN_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(opbridge_twin::widen_fp8(x, kind));
}
OB_TWIN_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half2(__half(opbridge_twin::widen_fp8(static_cast<unsigned char>(x), kind)),
                 __half(opbridge_twin::widen_fp8(static_cast<unsigned char>(x >> 8), kind)));
}

namespace opbridge_twin {

// Without arithmetic, as on a GPU: it is converted, always saturating, and computed with in a wider type.
template <__nv_fp8_interpretation_t kKind>
struct Fp8 {
  __nv_fp8_storage_t __x;

  Fp8() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  OB_TWIN_INLINE explicit Fp8(T value) : __x(narrow_fp8(static_cast<double>(value), __NV_SATFINITE, kKind)) {}
  OB_TWIN_INLINE explicit Fp8(__half value) : Fp8(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit Fp8(__nv_bfloat16 value) : Fp8(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit operator float() const { return widen_fp8(__x, kKind); }
  OB_TWIN_INLINE explicit operator double() const { return widen_fp8(__x, kKind); }
  OB_TWIN_INLINE explicit operator __half() const { return __half(widen_fp8(__x, kKind)); }
  OB_TWIN_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(widen_fp8(__x, kKind)); }
  OB_TWIN_INLINE explicit operator bool() const { return (__x & 0x7f) != 0; }
  template <class T, class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>, class = T>
  OB_TWIN_INLINE explicit operator T() const {
    return to_integer<T, Round::to_zero>(widen_fp8(__x, kKind));
  }
};

// Two, the first in the lower byte, so that one access of memory moves both.
template <__nv_fp8_interpretation_t kKind>
struct Fp8Pair {
  __nv_fp8x2_storage_t __x;

  Fp8Pair() = default;
  OB_TWIN_INLINE explicit Fp8Pair(double2 value) : __x(__nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, kKind)) {}
  OB_TWIN_INLINE explicit Fp8Pair(float2 value) : Fp8Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit Fp8Pair(__half2 value) : Fp8Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit Fp8Pair(__nv_bfloat162 value) : Fp8Pair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit operator float2() const {
    return {widen_fp8(static_cast<unsigned char>(__x), kKind), widen_fp8(static_cast<unsigned char>(__x >> 8), kKind)};
  }
  OB_TWIN_INLINE explicit operator __half2() const { return __half2(__nv_cvt_fp8x2_to_halfraw2(__x, kKind)); }
};

// Two pairs, the lower first.
template <__nv_fp8_interpretation_t kKind>
struct Fp8Four {
  __nv_fp8x4_storage_t __x;

  Fp8Four() = default;
  OB_TWIN_INLINE Fp8Four(double2 low, double2 high)
      : __x(__nv_cvt_double2_to_fp8x2(low, __NV_SATFINITE, kKind) |
            static_cast<unsigned>(__nv_cvt_double2_to_fp8x2(high, __NV_SATFINITE, kKind)) << 16) {}
  OB_TWIN_INLINE explicit Fp8Four(double4 value) : Fp8Four(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit Fp8Four(float4 value) : Fp8Four(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit Fp8Four(__half2 low, __half2 high)
      : Fp8Four(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit Fp8Four(__nv_bfloat162 low, __nv_bfloat162 high)
      : Fp8Four(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit operator float4() const {
    float values[4];
    for (int i = 0; i < 4; ++i) values[i] = widen_fp8(static_cast<unsigned char>(__x >> 8 * i), kKind);
    return {values[0], values[1], values[2], values[3]};
  }
};

}  // namespace opbridge_twin

#define OB_TWIN_FP8(name, Base, bytes)                                                  \
  struct __attribute__((aligned(bytes))) name##_e4m3 : opbridge_twin::Base<__NV_E4M3> { \
    using Base::Base;                                                                   \
    name##_e4m3() = default;                                                            \
  };                                                                                    \
  struct __attribute__((aligned(bytes))) name##_e5m2 : opbridge_twin::Base<__NV_E5M2> { \
    using Base::Base;                                                                   \
    name##_e5m2() = default;                                                            \
  };
OB_TWIN_FP8(__nv_fp8, Fp8, 1)
OB_TWIN_FP8(__nv_fp8x2, Fp8Pair, 2)
OB_TWIN_FP8(__nv_fp8x4, Fp8Four, 4)
#undef OB_TWIN_FP8

#endif
