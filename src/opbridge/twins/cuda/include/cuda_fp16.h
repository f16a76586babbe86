// __half and __half2.
#ifndef OPBRIDGE_TWIN_CUDA_FP16_H
#define OPBRIDGE_TWIN_CUDA_FP16_H

#include <cuda_runtime.h>
#include <opbridge_twin/short_float.h>

// The bits alone, without a constructor: what may lie in a union or in shared memory.
struct __half_raw {
  unsigned short x;
};
struct __attribute__((aligned(2))) __half : opbridge_twin::ShortFloat<__half, opbridge_twin::HalfFormat> {
  using ShortFloat::ShortFloat;
  __half() = default;
  constexpr __half(__half_raw raw) : ShortFloat(opbridge_twin::ShortBits{raw.x}) {}
  OB_TWIN_INLINE operator __half_raw() const { return {__x}; }
};

// The bits of two, the first in the lower half of the word.
struct __half2_raw {
  unsigned short x, y;
};
struct __attribute__((aligned(4))) __half2 : opbridge_twin::IsPair {
  __half x, y;
  __half2() = default;
  OB_TWIN_INLINE __half2(__half x_, __half y_) : x(x_), y(y_) {}
  OB_TWIN_INLINE __half2(__half2_raw raw) : x(__half::from_bits(raw.x)), y(__half::from_bits(raw.y)) {}
  OB_TWIN_INLINE operator __half2_raw() const { return {x.__x, y.__x}; }
};

#ifndef CUDA_NO_HALF
typedef __half half;
typedef __half2 half2;
#endif
typedef __half nv_half;
typedef __half2 nv_half2;

// Conversions; without a suffix they round to nearest.
#define OB_TWIN_CONVERSIONS(suffix, mode)                                                                           \
  OB_TWIN_INLINE __half __float2half_##suffix(float x) {                                                            \
    return __half::from_bits(opbridge_twin::narrow_directed<opbridge_twin::HalfFormat, mode>(x));                   \
  }                                                                                                                 \
  OB_TWIN_INLINE int __half2int_##suffix(__half x) { return __float2int_##suffix(x); }                              \
  OB_TWIN_INLINE unsigned __half2uint_##suffix(__half x) { return __float2uint_##suffix(x); }                       \
  OB_TWIN_INLINE long long __half2ll_##suffix(__half x) { return __float2ll_##suffix(x); }                          \
  OB_TWIN_INLINE unsigned long long __half2ull_##suffix(__half x) { return __float2ull_##suffix(x); }               \
  OB_TWIN_INLINE short __half2short_##suffix(__half x) { return opbridge_twin::to_integer<short, mode>(float(x)); } \
  OB_TWIN_INLINE unsigned short __half2ushort_##suffix(__half x) {                                                  \
    return opbridge_twin::to_integer<unsigned short, mode>(float(x));                                               \
  }                                                                                                                 \
  OB_TWIN_INLINE __half __int2half_##suffix(int x) {                                                                \
    return __half::from_bits(opbridge_twin::narrow_directed<opbridge_twin::HalfFormat, mode>(x));                   \
  }                                                                                                                 \
  OB_TWIN_INLINE __half __uint2half_##suffix(unsigned x) {                                                          \
    return __half::from_bits(opbridge_twin::narrow_directed<opbridge_twin::HalfFormat, mode>(x));                   \
  }                                                                                                                 \
  OB_TWIN_INLINE __half __short2half_##suffix(short x) { return __int2half_##suffix(x); }                           \
  OB_TWIN_INLINE __half __ushort2half_##suffix(unsigned short x) { return __int2half_##suffix(x); }                 \
  OB_TWIN_INLINE __half __ll2half_##suffix(long long x) {                                                           \
    return __half::from_bits(                                                                                       \
        opbridge_twin::narrow_directed<opbridge_twin::HalfFormat, mode>(__ll2double_##suffix(x)));                  \
  }                                                                                                                 \
  OB_TWIN_INLINE __half __ull2half_##suffix(unsigned long long x) {                                                 \
    return __half::from_bits(                                                                                       \
        opbridge_twin::narrow_directed<opbridge_twin::HalfFormat, mode>(__ull2double_##suffix(x)));                 \
  }
OB_TWIN_CONVERSIONS(rn, opbridge_twin::Round::nearest)
OB_TWIN_CONVERSIONS(rz, opbridge_twin::Round::to_zero)
OB_TWIN_CONVERSIONS(ru, opbridge_twin::Round::up)
OB_TWIN_CONVERSIONS(rd, opbridge_twin::Round::down)
#undef OB_TWIN_CONVERSIONS

OB_TWIN_INLINE __half __float2half(float x) { return __half(x); }
OB_TWIN_INLINE __half __double2half(double x) { return __half(x); }
OB_TWIN_INLINE float __half2float(__half x) { return x; }
OB_TWIN_INLINE short __half_as_short(__half x) { return static_cast<short>(x.__x); }
OB_TWIN_INLINE unsigned short __half_as_ushort(__half x) { return x.__x; }
OB_TWIN_INLINE __half __short_as_half(short x) { return __half::from_bits(static_cast<unsigned short>(x)); }
OB_TWIN_INLINE __half __ushort_as_half(unsigned short x) { return __half::from_bits(x); }
OB_TWIN_INLINE __half __low2half(__half2 a) { return a.x; }
OB_TWIN_INLINE __half __high2half(__half2 a) { return a.y; }
OB_TWIN_INLINE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
OB_TWIN_INLINE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
OB_TWIN_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
OB_TWIN_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
OB_TWIN_INLINE __half2 __half2half2(__half x) { return {x, x}; }
OB_TWIN_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
OB_TWIN_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
OB_TWIN_INLINE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
OB_TWIN_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
OB_TWIN_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
OB_TWIN_INLINE float2 __half22float2(__half2 v) { return {v.x, v.y}; }

// Each of a pair is atomic, and not the whole.
OB_TWIN_INLINE __half2 atomicAdd(__half2* address, __half2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}

#define CUDART_INF_FP16 __ushort_as_half(0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fffu)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bffu)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000u)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00u)

#endif
