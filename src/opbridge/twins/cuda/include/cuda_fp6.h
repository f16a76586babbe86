// __nv_fp6_e2m3, __nv_fp6_e3m2, their pairs and fours: six bits of a byte, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP6_H
#define OPBRIDGE_TWIN_CUDA_FP6_H

#include <opbridge_twin/small_float.h>

typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned __nv_fp6x4_storage_t;
// A byte of storage does not state its format, so every conversion takes it as an argument.
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };

namespace opbridge_twin {

OB_TWIN_INLINE constexpr SmallFormat fp6_format(__nv_fp6_interpretation_t kind) {
  return kind == __NV_E2M3 ? kE2m3 : kE3m2;
}
OB_TWIN_INLINE unsigned char narrow_fp6(double value, __nv_fp6_interpretation_t kind, cudaRoundMode rounding) {
  return narrow_finite(value, fp6_format(kind), rounding);
}
OB_TWIN_INLINE float widen_fp6(unsigned bits, __nv_fp6_interpretation_t kind) {
  return widen_small(bits, fp6_format(kind));
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

template <__nv_fp6_interpretation_t kKind>
struct Fp6 {
  static constexpr SmallFormat format = fp6_format(kKind);
  OB_TWIN_INLINE static unsigned char narrow(double value) { return narrow_fp6(value, kKind, cudaRoundNearest); }
  OB_TWIN_INLINE static float widen(unsigned char bits) { return widen_fp6(bits, kKind); }
};

}  // namespace opbridge_twin

OB_TWIN_SMALL_TYPE(__nv_fp6_e2m3, SmallFloat, Fp6<__NV_E2M3>, 1)
OB_TWIN_SMALL_TYPE(__nv_fp6_e3m2, SmallFloat, Fp6<__NV_E3M2>, 1)
OB_TWIN_SMALL_TYPE(__nv_fp6x2_e2m3, SmallPair, Fp6<__NV_E2M3>, 2)
OB_TWIN_SMALL_TYPE(__nv_fp6x2_e3m2, SmallPair, Fp6<__NV_E3M2>, 2)
OB_TWIN_SMALL_TYPE(__nv_fp6x4_e2m3, SmallFour, Fp6<__NV_E2M3>, 4)
OB_TWIN_SMALL_TYPE(__nv_fp6x4_e3m2, SmallFour, Fp6<__NV_E3M2>, 4)

#endif
