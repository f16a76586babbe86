// __nv_fp4_e2m1, its pairs and fours: four bits in memory, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP4_H
#define OPBRIDGE_TWIN_CUDA_FP4_H

#include <opbridge_twin/small_float.h>

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };

namespace opbridge_twin {

OB_TWIN_INLINE unsigned char narrow_fp4(double value, cudaRoundMode rounding) {
  return narrow_finite(value, kE2m1, rounding);
}
OB_TWIN_INLINE float widen_fp4(unsigned bits) { return widen_small(bits, kE2m1); }

struct Fp4 {
  static constexpr SmallFormat format = kE2m1;
  OB_TWIN_INLINE static unsigned char narrow(double value) { return narrow_fp4(value, cudaRoundNearest); }
  OB_TWIN_INLINE static float widen(unsigned char bits) { return widen_fp4(bits); }
};

}  // namespace opbridge_twin

OB_TWIN_INLINE __nv_fp4_storage_t __nv_cvt_double_to_fp4(double x, __nv_fp4_interpretation_t, cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp4(x, rounding);
}
OB_TWIN_INLINE __nv_fp4_storage_t __nv_cvt_float_to_fp4(float x, __nv_fp4_interpretation_t, cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp4(x, rounding);
}
OB_TWIN_INLINE __nv_fp4_storage_t __nv_cvt_halfraw_to_fp4(__half_raw x, __nv_fp4_interpretation_t,
                                                          cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp4(static_cast<float>(__half(x)), rounding);
}
OB_TWIN_INLINE __nv_fp4_storage_t __nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16_raw x, __nv_fp4_interpretation_t,
                                                              cudaRoundMode rounding) {
  return opbridge_twin::narrow_fp4(static_cast<float>(__nv_bfloat16(x)), rounding);
}
OB_TWIN_INLINE __nv_fp4x2_storage_t __nv_cvt_double2_to_fp4x2(double2 x, __nv_fp4_interpretation_t,
                                                              cudaRoundMode rounding) {
  return static_cast<__nv_fp4x2_storage_t>(opbridge_twin::narrow_fp4(x.x, rounding) |
                                           opbridge_twin::narrow_fp4(x.y, rounding) << 4);
}
OB_TWIN_INLINE __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(float2 x, __nv_fp4_interpretation_t kind,
                                                             cudaRoundMode rounding) {
  return __nv_cvt_double2_to_fp4x2(double2{x.x, x.y}, kind, rounding);
}
OB_TWIN_INLINE __nv_fp4x2_storage_t __nv_cvt_halfraw2_to_fp4x2(__half2_raw x, __nv_fp4_interpretation_t kind,
                                                               cudaRoundMode rounding) {
  const __half2 pair(x);
  return __nv_cvt_double2_to_fp4x2(double2{pair.x, pair.y}, kind, rounding);
}
OB_TWIN_INLINE __nv_fp4x2_storage_t __nv_cvt_bfloat16raw2_to_fp4x2(__nv_bfloat162_raw x, __nv_fp4_interpretation_t kind,
                                                                   cudaRoundMode rounding) {
  const __nv_bfloat162 pair(x);
  return __nv_cvt_double2_to_fp4x2(double2{pair.x, pair.y}, kind, rounding);
}
OB_TWIN_INLINE __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) {
  return __half(opbridge_twin::widen_fp4(x));
}
OB_TWIN_INLINE __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t x, __nv_fp4_interpretation_t) {
  return __half2(__half(opbridge_twin::widen_fp4(x)), __half(opbridge_twin::widen_fp4(x >> 4)));
}

// In the lower half of a byte.
OB_TWIN_SMALL_TYPE(__nv_fp4_e2m1, SmallFloat, Fp4, 1)

// Two in a byte, the first in its lower half.
struct __nv_fp4x2_e2m1 {
  __nv_fp4x2_storage_t __x;

  __nv_fp4x2_e2m1() = default;
  OB_TWIN_INLINE explicit __nv_fp4x2_e2m1(double2 value)
      : __x(__nv_cvt_double2_to_fp4x2(value, __NV_E2M1, cudaRoundNearest)) {}
  OB_TWIN_INLINE explicit __nv_fp4x2_e2m1(float2 value) : __nv_fp4x2_e2m1(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit __nv_fp4x2_e2m1(__half2 value) : __nv_fp4x2_e2m1(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit __nv_fp4x2_e2m1(__nv_bfloat162 value) : __nv_fp4x2_e2m1(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit operator float2() const {
    return {opbridge_twin::widen_fp4(__x), opbridge_twin::widen_fp4(__x >> 4)};
  }
  OB_TWIN_INLINE explicit operator __half2() const { return __half2(__nv_cvt_fp4x2_to_halfraw2(__x, __NV_E2M1)); }
};

// Two pairs, the lower first.
struct alignas(2) __nv_fp4x4_e2m1 {
  __nv_fp4x4_storage_t __x;

  __nv_fp4x4_e2m1() = default;
  OB_TWIN_INLINE __nv_fp4x4_e2m1(double2 low, double2 high)
      : __x(static_cast<__nv_fp4x4_storage_t>(__nv_fp4x2_e2m1(low).__x | __nv_fp4x2_e2m1(high).__x << 8)) {}
  OB_TWIN_INLINE explicit __nv_fp4x4_e2m1(double4 value)
      : __nv_fp4x4_e2m1(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit __nv_fp4x4_e2m1(float4 value)
      : __nv_fp4x4_e2m1(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit __nv_fp4x4_e2m1(__half2 low, __half2 high)
      : __nv_fp4x4_e2m1(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit __nv_fp4x4_e2m1(__nv_bfloat162 low, __nv_bfloat162 high)
      : __nv_fp4x4_e2m1(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit operator float4() const {
    return {opbridge_twin::widen_fp4(__x), opbridge_twin::widen_fp4(__x >> 4), opbridge_twin::widen_fp4(__x >> 8),
            opbridge_twin::widen_fp4(__x >> 12)};
  }
};

#endif
