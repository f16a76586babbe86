// __nv_fp4_e2m1, its pairs and fours: four bits in memory, and arithmetic in other types.
#ifndef OPBRIDGE_TWIN_CUDA_FP4_H
#define OPBRIDGE_TWIN_CUDA_FP4_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };

namespace opbridge_twin {

// Eight sizes with a sign: neither an infinity nor something that is no number, which becomes the largest.
constexpr double kFp4Sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
constexpr unsigned char kFp4Most = 7, kFp4Sign = 8;

OB_TWIN_INLINE unsigned char narrow_fp4(double value, cudaRoundMode rounding) {
  if (value != value) return kFp4Most;
  const unsigned char sign = __builtin_signbit(value) ? kFp4Sign : 0;
  const double size = fabs(value);
  unsigned char below = kFp4Most;
  while (kFp4Sizes[below] > size) --below;
  if (below == kFp4Most || rounding == cudaRoundZero) return sign | below;
  const double middle = (kFp4Sizes[below] + kFp4Sizes[below + 1]) / 2;
  const bool is_up = size > middle || (size == middle && below % 2 == 1);
  return static_cast<unsigned char>(sign | (below + is_up));
}

OB_TWIN_INLINE float widen_fp4(unsigned bits) {
  const float size = static_cast<float>(kFp4Sizes[bits & kFp4Most]);
  return (bits & kFp4Sign) != 0 ? -size : size;
}

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
struct __nv_fp4_e2m1 {
  __nv_fp4_storage_t __x;

  __nv_fp4_e2m1() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  OB_TWIN_INLINE explicit __nv_fp4_e2m1(T value)
      : __x(opbridge_twin::narrow_fp4(static_cast<double>(value), cudaRoundNearest)) {}
  OB_TWIN_INLINE explicit __nv_fp4_e2m1(__half value) : __nv_fp4_e2m1(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit __nv_fp4_e2m1(__nv_bfloat16 value) : __nv_fp4_e2m1(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit operator float() const { return opbridge_twin::widen_fp4(__x); }
  OB_TWIN_INLINE explicit operator double() const { return opbridge_twin::widen_fp4(__x); }
  OB_TWIN_INLINE explicit operator __half() const { return __half(opbridge_twin::widen_fp4(__x)); }
  OB_TWIN_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(opbridge_twin::widen_fp4(__x)); }
  OB_TWIN_INLINE explicit operator bool() const { return (__x & opbridge_twin::kFp4Most) != 0; }
};

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
