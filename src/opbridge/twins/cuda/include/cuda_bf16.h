// __nv_bfloat16 and __nv_bfloat162.
#ifndef OPBRIDGE_TWIN_CUDA_BF16_H
#define OPBRIDGE_TWIN_CUDA_BF16_H

#include <cuda_runtime.h>
#include <opbridge_twin/short_float.h>

// The bits alone, without a constructor: what may lie in a union or in shared memory.
struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __attribute__((aligned(2))) __nv_bfloat16
    : opbridge_twin::ShortFloat<__nv_bfloat16, opbridge_twin::BfloatFormat> {
  using ShortFloat::ShortFloat;
  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : ShortFloat(opbridge_twin::ShortBits{raw.x}) {}
  OB_TWIN_INLINE operator __nv_bfloat16_raw() const { return {__x}; }
};

// The bits of two, the first in the lower half of the word.
struct __nv_bfloat162_raw {
  unsigned short x, y;
};
struct __attribute__((aligned(4))) __nv_bfloat162 : opbridge_twin::IsPair {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  OB_TWIN_INLINE __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
  OB_TWIN_INLINE __nv_bfloat162(__nv_bfloat162_raw raw)
      : x(__nv_bfloat16::from_bits(raw.x)), y(__nv_bfloat16::from_bits(raw.y)) {}
  OB_TWIN_INLINE operator __nv_bfloat162_raw() const { return {x.__x, y.__x}; }
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// Conversions; without a suffix they round to nearest.
#define OB_TWIN_CONVERSIONS(suffix, mode)                                                                          \
  OB_TWIN_INLINE __nv_bfloat16 __float2bfloat16_##suffix(float x) {                                                \
    return __nv_bfloat16::from_bits(opbridge_twin::narrow_directed<opbridge_twin::BfloatFormat, mode>(x));         \
  }                                                                                                                \
  OB_TWIN_INLINE int __bfloat162int_##suffix(__nv_bfloat16 x) { return __float2int_##suffix(x); }                  \
  OB_TWIN_INLINE unsigned __bfloat162uint_##suffix(__nv_bfloat16 x) { return __float2uint_##suffix(x); }           \
  OB_TWIN_INLINE long long __bfloat162ll_##suffix(__nv_bfloat16 x) { return __float2ll_##suffix(x); }              \
  OB_TWIN_INLINE unsigned long long __bfloat162ull_##suffix(__nv_bfloat16 x) { return __float2ull_##suffix(x); }   \
  OB_TWIN_INLINE short __bfloat162short_##suffix(__nv_bfloat16 x) {                                                \
    return opbridge_twin::to_integer<short, mode>(float(x));                                                       \
  }                                                                                                                \
  OB_TWIN_INLINE unsigned short __bfloat162ushort_##suffix(__nv_bfloat16 x) {                                      \
    return opbridge_twin::to_integer<unsigned short, mode>(float(x));                                              \
  }                                                                                                                \
  OB_TWIN_INLINE __nv_bfloat16 __int2bfloat16_##suffix(int x) {                                                    \
    return __nv_bfloat16::from_bits(opbridge_twin::narrow_directed<opbridge_twin::BfloatFormat, mode>(x));         \
  }                                                                                                                \
  OB_TWIN_INLINE __nv_bfloat16 __uint2bfloat16_##suffix(unsigned x) {                                              \
    return __nv_bfloat16::from_bits(opbridge_twin::narrow_directed<opbridge_twin::BfloatFormat, mode>(x));         \
  }                                                                                                                \
  OB_TWIN_INLINE __nv_bfloat16 __short2bfloat16_##suffix(short x) { return __int2bfloat16_##suffix(x); }           \
  OB_TWIN_INLINE __nv_bfloat16 __ushort2bfloat16_##suffix(unsigned short x) { return __int2bfloat16_##suffix(x); } \
  OB_TWIN_INLINE __nv_bfloat16 __ll2bfloat16_##suffix(long long x) {                                               \
    return __nv_bfloat16::from_bits(                                                                               \
        opbridge_twin::narrow_directed<opbridge_twin::BfloatFormat, mode>(__ll2double_##suffix(x)));               \
  }                                                                                                                \
  OB_TWIN_INLINE __nv_bfloat16 __ull2bfloat16_##suffix(unsigned long long x) {                                     \
    return __nv_bfloat16::from_bits(                                                                               \
        opbridge_twin::narrow_directed<opbridge_twin::BfloatFormat, mode>(__ull2double_##suffix(x)));              \
  }
OB_TWIN_CONVERSIONS(rn, opbridge_twin::Round::nearest)
OB_TWIN_CONVERSIONS(rz, opbridge_twin::Round::to_zero)
OB_TWIN_CONVERSIONS(ru, opbridge_twin::Round::up)
OB_TWIN_CONVERSIONS(rd, opbridge_twin::Round::down)
#undef OB_TWIN_CONVERSIONS

OB_TWIN_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
OB_TWIN_INLINE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
OB_TWIN_INLINE float __bfloat162float(__nv_bfloat16 x) { return x; }
OB_TWIN_INLINE short __bfloat16_as_short(__nv_bfloat16 x) { return static_cast<short>(x.__x); }
OB_TWIN_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
OB_TWIN_INLINE __nv_bfloat16 __short_as_bfloat16(short x) {
  return __nv_bfloat16::from_bits(static_cast<unsigned short>(x));
}
OB_TWIN_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16::from_bits(x); }
OB_TWIN_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
OB_TWIN_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
OB_TWIN_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
OB_TWIN_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
OB_TWIN_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
OB_TWIN_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
OB_TWIN_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
OB_TWIN_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
OB_TWIN_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
OB_TWIN_INLINE __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
OB_TWIN_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
OB_TWIN_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
OB_TWIN_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }

// Each of a pair is atomic, and not the whole.
OB_TWIN_INLINE __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fffu)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7fu)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000u)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80u)

#endif
