// __nv_fp8_e4m3, __nv_fp8_e5m2, their pairs and fours: eight bits in memory, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP8_H
#define OPBRIDGE_TWIN_CUDA_FP8_H

#include <opbridge_twin/small_float.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
// Whether a value that is too large becomes the largest, or what overflow gives.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
// A byte of storage does not state its format, so every conversion takes it as an argument.
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace opbridge_twin {

constexpr unsigned char kFp8Nan = 0x7f;

OB_TWIN_INLINE constexpr SmallFormat fp8_format(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? kE4m3 : kE5m2;
}

OB_TWIN_INLINE unsigned char narrow_fp8(double value, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  if (value != value) return kFp8Nan;
  const SmallFormat format = fp8_format(kind);
  return narrow_small(value, format, cudaRoundNearest, format.most + (saturate == __NV_SATFINITE ? 0u : 1u));
}

OB_TWIN_INLINE float widen_fp8(unsigned char bits, __nv_fp8_interpretation_t kind) {
  const SmallFormat format = fp8_format(kind);
  const unsigned size = bits & 0x7fu;
  if (size <= format.most) return widen_small(bits, format);
  if (kind == __NV_E4M3 || size > format.most + 1u) return __builtin_nanf("");
  return bits & format.sign ? -__builtin_inff() : __builtin_inff();
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

template <__nv_fp8_interpretation_t kKind>
struct Fp8 {
  static constexpr SmallFormat format = fp8_format(kKind);
  OB_TWIN_INLINE static unsigned char narrow(double value) { return narrow_fp8(value, __NV_SATFINITE, kKind); }
  OB_TWIN_INLINE static float widen(unsigned char bits) { return widen_fp8(bits, kKind); }
};

template <class Type>
struct Fp8Float : SmallFloat<Type> {
  using SmallFloat<Type>::SmallFloat;
  Fp8Float() = default;
  template <class T, class = std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>, class = T>
  OB_TWIN_INLINE explicit operator T() const {
    return to_integer<T, Round::to_zero>(Type::widen(this->__x));
  }
};

}  // namespace opbridge_twin

OB_TWIN_SMALL_TYPE(__nv_fp8_e4m3, Fp8Float, Fp8<__NV_E4M3>, 1)
OB_TWIN_SMALL_TYPE(__nv_fp8_e5m2, Fp8Float, Fp8<__NV_E5M2>, 1)
OB_TWIN_SMALL_TYPE(__nv_fp8x2_e4m3, SmallPair, Fp8<__NV_E4M3>, 2)
OB_TWIN_SMALL_TYPE(__nv_fp8x2_e5m2, SmallPair, Fp8<__NV_E5M2>, 2)
OB_TWIN_SMALL_TYPE(__nv_fp8x4_e4m3, SmallFour, Fp8<__NV_E4M3>, 4)
OB_TWIN_SMALL_TYPE(__nv_fp8x4_e5m2, SmallFour, Fp8<__NV_E5M2>, 4)

#endif
