// Device functions on bits, integers, conversions, and arithmetic with a rounding of one's choice.
#ifndef OPBRIDGE_TWIN_INTRINSICS_H
#define OPBRIDGE_TWIN_INTRINSICS_H

#include <math.h>
#include <opbridge_twin/atomic.h>
#include <stdint.h>

// Bits ---------------------------------------------------------------------------------------------------------------

OB_TWIN_INLINE int __float_as_int(float x) { return opbridge_twin::bits_as<int>(x); }
OB_TWIN_INLINE unsigned __float_as_uint(float x) { return opbridge_twin::bits_as<unsigned>(x); }
OB_TWIN_INLINE float __int_as_float(int x) { return opbridge_twin::bits_as<float>(x); }
OB_TWIN_INLINE float __uint_as_float(unsigned x) { return opbridge_twin::bits_as<float>(x); }
OB_TWIN_INLINE long long __double_as_longlong(double x) { return opbridge_twin::bits_as<long long>(x); }
OB_TWIN_INLINE double __longlong_as_double(long long x) { return opbridge_twin::bits_as<double>(x); }
OB_TWIN_INLINE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
OB_TWIN_INLINE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
OB_TWIN_INLINE double __hiloint2double(int high, int low) {
  return opbridge_twin::bits_as<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                                        static_cast<uint32_t>(low));
}

OB_TWIN_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
OB_TWIN_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
OB_TWIN_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
OB_TWIN_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
OB_TWIN_INLINE int __ffs(int x) { return __builtin_ffs(x); }
OB_TWIN_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
OB_TWIN_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
OB_TWIN_INLINE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
OB_TWIN_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
  // The position of the offset-th bit from base on, upwards or downwards.
  const int step = offset < 0 ? -1 : 1;
  int left = offset < 0 ? -offset : offset == 0 ? 1 : offset;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) && --left == 0) return static_cast<unsigned>(at);
    if (offset == 0) break;
  }
  return 0xffffffffu;
}
OB_TWIN_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    // The fourth bit, which PTX's `prmt` repeats a sign for, is not looked at.
    const unsigned select = selector >> (4 * i) & 7;
    result |= static_cast<unsigned>(bytes >> (8 * select) & 0xff) << (8 * i);
  }
  return result;
}
OB_TWIN_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
OB_TWIN_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
OB_TWIN_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
OB_TWIN_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// Integers -----------------------------------------------------------------------------------------------------------

OB_TWIN_INLINE int __mulhi(int x, int y) { return static_cast<int>(static_cast<int64_t>(x) * y >> 32); }
OB_TWIN_INLINE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}
OB_TWIN_INLINE long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
OB_TWIN_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
OB_TWIN_INLINE int __mul24(int x, int y) {
  const int64_t a = static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8;
  const int64_t b = static_cast<int32_t>(static_cast<uint32_t>(y) << 8) >> 8;
  return static_cast<int>(a * b);
}
OB_TWIN_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
OB_TWIN_INLINE unsigned __sad(int x, int y, unsigned z) {
  const int64_t d = static_cast<int64_t>(x) - y;
  return z + static_cast<unsigned>(d < 0 ? -d : d);
}
OB_TWIN_INLINE unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }
OB_TWIN_INLINE int __hadd(int x, int y) { return static_cast<int>((static_cast<int64_t>(x) + y) >> 1); }
OB_TWIN_INLINE int __rhadd(int x, int y) { return static_cast<int>((static_cast<int64_t>(x) + y + 1) >> 1); }
OB_TWIN_INLINE unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<uint64_t>(x) + y) >> 1);
}
OB_TWIN_INLINE unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<uint64_t>(x) + y + 1) >> 1);
}
OB_TWIN_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
  return c;
}
OB_TWIN_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
  return c;
}
OB_TWIN_INLINE int __dp2a_lo(int a, int b, int c) {
  for (int i = 0; i < 2; ++i) c += static_cast<int16_t>(a >> 16 * i) * static_cast<int8_t>(b >> 8 * i);
  return c;
}
OB_TWIN_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }

// Rounding -----------------------------------------------------------------------------------------------------------

namespace opbridge_twin {

// The directions that CUDA's _rn, _rz, _ru and _rd name.
enum class Round { nearest, to_zero, up, down };

// The neighbour of a rounded result in the chosen direction, given on which side of it the exact value lies: error is
// the exact value less the result, or of its sign.
template <Round mode, class T, class Error>
OB_TWIN_INLINE T directed(T rounded, Error error) {
  if (mode == Round::nearest || error == 0 || rounded != rounded) return rounded;
  const T infinity = static_cast<T>(HUGE_VAL);
  const bool too_small = error > 0;
  if (mode == Round::up) return too_small ? nextafter(rounded, infinity) : rounded;
  if (mode == Round::down) return too_small ? rounded : nextafter(rounded, -infinity);
  const bool beyond = too_small ? rounded < 0 : rounded > 0;  // farther from zero than the exact value
  return beyond ? nextafter(rounded, T(0)) : rounded;
}

// A result and its rounding error, which together are exact.
struct Exact {
  double value;
  double rest;  // what the rounded value lacks
};
OB_TWIN_INLINE Exact exact_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The float for a sum that is given without an error.
template <Round mode>
OB_TWIN_INLINE float to_float(Exact exact) {
  if (!isfinite(exact.value)) return static_cast<float>(exact.value);
  // With its last bit set where something was cut off, a double rounds as the exact value does.
  double odd = exact.value;
  if (exact.rest != 0 && (bits_as<uint64_t>(odd) & 1) == 0) {
    odd = nextafter(odd, exact.rest > 0 ? HUGE_VAL : -HUGE_VAL);
  }
  const float rounded = static_cast<float>(odd);
  if (isinf(rounded)) return directed<mode>(rounded, rounded > 0 ? -1.0 : 1.0);
  return directed<mode>(rounded, odd - static_cast<double>(rounded));
}

template <Round mode>
OB_TWIN_INLINE float add(float a, float b) {
  if (mode == Round::nearest) return a + b;
  return to_float<mode>(exact_sum(a, b));
}
template <Round mode>
OB_TWIN_INLINE float multiply(float a, float b) {
  return to_float<mode>({static_cast<double>(a) * b, 0.0});
}
template <Round mode>
OB_TWIN_INLINE float multiply_add(float a, float b, float c) {
  if (mode == Round::nearest) return fmaf(a, b, c);
  return to_float<mode>(exact_sum(static_cast<double>(a) * b, c));
}
template <Round mode>
OB_TWIN_INLINE float divide(float a, float b) {
  const float rounded = a / b;
  if (mode == Round::nearest || b == 0 || !isfinite(a) || !isfinite(b)) return rounded;
  if (isinf(rounded)) return directed<mode>(rounded, rounded > 0 ? -1.0 : 1.0);
  const double rest = static_cast<double>(a) - static_cast<double>(rounded) * b;
  return directed<mode>(rounded, b < 0 ? -rest : rest);
}
template <Round mode>
OB_TWIN_INLINE float square_root(float a) {
  const float rounded = sqrtf(a);
  if (mode == Round::nearest || !(a > 0) || isinf(a)) return rounded;
  return directed<mode>(rounded, static_cast<double>(a) - static_cast<double>(rounded) * rounded);
}

// With twice the digits of a double and more, and exponents that neither overflow nor underflow.
#if defined(__x86_64__)
using Quad = __float128;
#else
using Quad = long double;
#endif

// The result of an operation on finite numbers that was rounded to nearest, given what it lacks.
template <Round mode>
OB_TWIN_INLINE double directed_double(double rounded, Quad error) {
  if (isinf(rounded)) return directed<mode>(rounded, rounded > 0 ? -1 : 1);
  return directed<mode>(rounded, error > 0 ? 1 : error < 0 ? -1 : 0);
}

template <Round mode>
double multiply_add(double a, double b, double c) {
  const double rounded = fma(a, b, c);
  if (mode == Round::nearest || !isfinite(a) || !isfinite(b) || !isfinite(c)) return rounded;
  if (isinf(rounded)) return directed_double<mode>(rounded, 0);
  const Quad product = static_cast<Quad>(a) * b, other = c;
  const Quad sum = product + other, other_part = sum - product;
  const Quad rest = (product - (sum - other_part)) + (other - other_part);
  return directed_double<mode>(rounded, (sum - rounded) + rest);
}
template <Round mode>
OB_TWIN_INLINE double add(double a, double b) {
  return mode == Round::nearest ? a + b : multiply_add<mode>(a, 1.0, b);
}
template <Round mode>
OB_TWIN_INLINE double multiply(double a, double b) {
  if (mode == Round::nearest || !isfinite(a) || !isfinite(b)) return a * b;
  return directed_double<mode>(a * b, static_cast<Quad>(a) * b - static_cast<Quad>(a * b));
}
template <Round mode>
OB_TWIN_INLINE double divide(double a, double b) {
  const double rounded = a / b;
  if (mode == Round::nearest || b == 0 || !isfinite(a) || !isfinite(b)) return rounded;
  const Quad rest = static_cast<Quad>(a) - static_cast<Quad>(rounded) * b;
  return directed_double<mode>(rounded, b < 0 ? -rest : rest);
}
template <Round mode>
OB_TWIN_INLINE double square_root(double a) {
  const double rounded = sqrt(a);
  if (mode == Round::nearest || !(a > 0) || isinf(a)) return rounded;
  return directed_double<mode>(rounded, static_cast<Quad>(a) - static_cast<Quad>(rounded) * rounded);
}

template <Round mode, class T>
OB_TWIN_INLINE T whole(T x) {
  switch (mode) {
    case Round::nearest:
      return nearbyint(x);
    case Round::to_zero:
      return trunc(x);
    case Round::up:
      return ceil(x);
    case Round::down:
      return floor(x);
  }
}

// Values that are too large become the greatest.  NaN becomes 0 if a float is converted to 32 bits, and otherwise the
// highest bit alone, as on an H100.
template <class To, Round mode, class From>
OB_TWIN_INLINE To to_integer(From x) {
  constexpr int kBits = static_cast<int>(sizeof(To)) * 8;
  constexpr bool kSigned = To(-1) < To(0);
  constexpr bool kOfFloat = sizeof(To) == 4 && sizeof(From) == 4;
  if (x != x) return kOfFloat ? To(0) : static_cast<To>(1ull << (kBits - 1));
  const From number = whole<mode>(x);
  const From limit = static_cast<From>(ldexp(1.0, kSigned ? kBits - 1 : kBits));
  if (number >= limit) return kSigned ? static_cast<To>((1ull << (kBits - 1)) - 1) : static_cast<To>(~0ull);
  if (number < (kSigned ? -limit : From(0))) return kSigned ? static_cast<To>(1ull << (kBits - 1)) : To(0);
  return static_cast<To>(number);
}

// An integer of 64 bits has more digits than a double; their sum with what it lacks is exact.
template <class To, Round mode, class From>
OB_TWIN_INLINE To from_integer(From x) {
  const To rounded = static_cast<To>(x);
  const __int128 error = static_cast<__int128>(x) - static_cast<__int128>(rounded);
  return directed<mode>(rounded, error > 0 ? 1 : error < 0 ? -1 : 0);
}

}  // namespace opbridge_twin

#define OB_TWIN_ROUNDED(suffix, mode)                                                                               \
  OB_TWIN_INLINE float __fadd_##suffix(float a, float b) { return opbridge_twin::add<mode>(a, b); }                 \
  OB_TWIN_INLINE float __fsub_##suffix(float a, float b) { return opbridge_twin::add<mode>(a, -b); }                \
  OB_TWIN_INLINE float __fmul_##suffix(float a, float b) { return opbridge_twin::multiply<mode>(a, b); }            \
  OB_TWIN_INLINE float __fmaf_##suffix(float a, float b, float c) {                                                 \
    return opbridge_twin::multiply_add<mode>(a, b, c);                                                              \
  }                                                                                                                 \
  OB_TWIN_INLINE float __fdiv_##suffix(float a, float b) { return opbridge_twin::divide<mode>(a, b); }              \
  OB_TWIN_INLINE float __frcp_##suffix(float a) { return opbridge_twin::divide<mode>(1.0f, a); }                    \
  OB_TWIN_INLINE float __fsqrt_##suffix(float a) { return opbridge_twin::square_root<mode>(a); }                    \
  OB_TWIN_INLINE double __dadd_##suffix(double a, double b) { return opbridge_twin::add<mode>(a, b); }              \
  OB_TWIN_INLINE double __dsub_##suffix(double a, double b) { return opbridge_twin::add<mode>(a, -b); }             \
  OB_TWIN_INLINE double __dmul_##suffix(double a, double b) { return opbridge_twin::multiply<mode>(a, b); }         \
  OB_TWIN_INLINE double __fma_##suffix(double a, double b, double c) {                                              \
    return opbridge_twin::multiply_add<mode>(a, b, c);                                                              \
  }                                                                                                                 \
  OB_TWIN_INLINE double __ddiv_##suffix(double a, double b) { return opbridge_twin::divide<mode>(a, b); }           \
  OB_TWIN_INLINE double __drcp_##suffix(double a) { return opbridge_twin::divide<mode>(1.0, a); }                   \
  OB_TWIN_INLINE double __dsqrt_##suffix(double a) { return opbridge_twin::square_root<mode>(a); }                  \
  OB_TWIN_INLINE int __float2int_##suffix(float x) { return opbridge_twin::to_integer<int, mode>(x); }              \
  OB_TWIN_INLINE unsigned __float2uint_##suffix(float x) { return opbridge_twin::to_integer<unsigned, mode>(x); }   \
  OB_TWIN_INLINE long long __float2ll_##suffix(float x) { return opbridge_twin::to_integer<long long, mode>(x); }   \
  OB_TWIN_INLINE unsigned long long __float2ull_##suffix(float x) {                                                 \
    return opbridge_twin::to_integer<unsigned long long, mode>(x);                                                  \
  }                                                                                                                 \
  OB_TWIN_INLINE int __double2int_##suffix(double x) { return opbridge_twin::to_integer<int, mode>(x); }            \
  OB_TWIN_INLINE unsigned __double2uint_##suffix(double x) { return opbridge_twin::to_integer<unsigned, mode>(x); } \
  OB_TWIN_INLINE long long __double2ll_##suffix(double x) { return opbridge_twin::to_integer<long long, mode>(x); } \
  OB_TWIN_INLINE unsigned long long __double2ull_##suffix(double x) {                                               \
    return opbridge_twin::to_integer<unsigned long long, mode>(x);                                                  \
  }                                                                                                                 \
  OB_TWIN_INLINE float __double2float_##suffix(double x) { return opbridge_twin::to_float<mode>({x, 0.0}); }        \
  OB_TWIN_INLINE float __int2float_##suffix(int x) { return opbridge_twin::from_integer<float, mode>(x); }          \
  OB_TWIN_INLINE float __uint2float_##suffix(unsigned x) { return opbridge_twin::from_integer<float, mode>(x); }    \
  OB_TWIN_INLINE float __ll2float_##suffix(long long x) { return opbridge_twin::from_integer<float, mode>(x); }     \
  OB_TWIN_INLINE float __ull2float_##suffix(unsigned long long x) {                                                 \
    return opbridge_twin::from_integer<float, mode>(x);                                                             \
  }                                                                                                                 \
  OB_TWIN_INLINE double __ll2double_##suffix(long long x) { return opbridge_twin::from_integer<double, mode>(x); }  \
  OB_TWIN_INLINE double __ull2double_##suffix(unsigned long long x) {                                               \
    return opbridge_twin::from_integer<double, mode>(x);                                                            \
  }
OB_TWIN_ROUNDED(rn, opbridge_twin::Round::nearest)
OB_TWIN_ROUNDED(rz, opbridge_twin::Round::to_zero)
OB_TWIN_ROUNDED(ru, opbridge_twin::Round::up)
OB_TWIN_ROUNDED(rd, opbridge_twin::Round::down)
#undef OB_TWIN_ROUNDED

OB_TWIN_INLINE double __int2double_rn(int x) { return x; }
OB_TWIN_INLINE double __uint2double_rn(unsigned x) { return x; }
OB_TWIN_INLINE float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }

#endif
