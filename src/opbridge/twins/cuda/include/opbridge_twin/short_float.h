// What __half and __nv_bfloat16 have in common: 16 bits in memory, every operation rounded once.
//
// A sum, product or quotient that is computed in a type with more than twice the digits, and rounded again, is the
// exact one rounded once.  Where that would not be enough, the wider result is first rounded to odd: what was cut off
// then still shows in its last bit.
#ifndef OPBRIDGE_TWIN_SHORT_FLOAT_H
#define OPBRIDGE_TWIN_SHORT_FLOAT_H

#include <opbridge_twin/intrinsics.h>
#include <opbridge_twin/math.h>

#include <type_traits>

#include "../../../../include/opbridge/half.h"

namespace opbridge_twin {

// How the bits of a half become a float's and back.
struct HalfFormat {
  static constexpr unsigned short kInfinity = 0x7c00, kNan = 0x7fff, kOne = 0x3c00;
  OB_TWIN_INLINE static float widen(unsigned short bits) { return ob::detail::half_to_float(bits); }
  OB_TWIN_INLINE static unsigned short narrow(float value) {
    // A GPU knows one NaN only.
    return value != value ? kNan : ob::detail::float_to_half(value);
  }
};

// The same of a bfloat16.
struct BfloatFormat {
  static constexpr unsigned short kInfinity = 0x7f80, kNan = 0x7fff, kOne = 0x3f80;
  OB_TWIN_INLINE static float widen(unsigned short bits) { return ob::detail::bfloat16_to_float(bits); }
  OB_TWIN_INLINE static unsigned short narrow(float value) {
    return value != value ? kNan : ob::detail::float_to_bfloat16(value);
  }
};

// The float that rounds to a shorter type as the double does.
OB_TWIN_INLINE float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !isfinite(nearest)) return nearest;
  unsigned bits = bits_as<unsigned>(nearest);
  if (fabs(static_cast<double>(nearest)) > fabs(value)) --bits;
  return bits_as<float>(bits | 1);
}

OB_TWIN_INLINE double to_odd(Exact exact) {
  const uint64_t bits = bits_as<uint64_t>(exact.value);
  // What was cut off lies beyond the last bit, or below it.
  const uint64_t step = (exact.rest > 0) == (exact.value > 0) ? 1 : ~uint64_t{0};
  const bool odd = exact.rest == 0 || !isfinite(exact.value) || (bits & 1) != 0;
  return bits_as<double>(odd ? bits : bits + step);
}

template <class Format>
OB_TWIN_INLINE unsigned short narrow_double(double value) {
  return Format::narrow(to_odd(value));
}

template <class Format, Round mode>
unsigned short narrow_directed(double value) {
  const unsigned short nearest = narrow_double<Format>(value);
  const double got = Format::widen(nearest);
  if (mode == Round::nearest || got == value || value != value || isinf(value)) return nearest;
  const bool negative = value < 0;
  const bool away = mode == Round::up ? !negative : mode == Round::down ? negative : false;
  const bool is_beyond = fabs(got) > fabs(value);
  if (away == is_beyond) return nearest;
  return static_cast<unsigned short>(away ? nearest + 1 : nearest - 1);
}

// Bases that say what a type is, so that functions can be restricted to all such types.
struct IsShortFloat {};
struct IsPair {};

template <class T>
using IfShort = std::enable_if_t<std::is_base_of<IsShortFloat, T>::value, T>;
template <class T>
using IfPair = std::enable_if_t<std::is_base_of<IsPair, T>::value, T>;
template <class T>
using ElementOf = decltype(T::x);

// Makes a constructor from bits another one than that from a number.
struct ShortBits {
  unsigned short bits;
};

// Self is the type itself, which adds its name.
template <class Self, class Format_>
struct ShortFloat : IsShortFloat {
  using Format = Format_;
  unsigned short __x;

  ShortFloat() = default;
  constexpr explicit ShortFloat(ShortBits raw) : __x(raw.bits) {}
  OB_TWIN_INLINE ShortFloat(float value) : __x(Format::narrow(value)) {}
  OB_TWIN_INLINE ShortFloat(double value) : __x(narrow_double<Format>(value)) {}
  // Not all integers of 64 bits fit a double; the lost part must set its last bit.
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
  OB_TWIN_INLINE ShortFloat(T value) : __x(narrow_double<Format>(to_odd(exact(value)))) {}
  OB_TWIN_INLINE operator float() const { return Format::widen(__x); }
  OB_TWIN_INLINE explicit operator bool() const { return (__x & 0x7fff) != 0; }

  OB_TWIN_INLINE static Self from_bits(unsigned bits) {
    Self made;
    made.__x = static_cast<unsigned short>(bits);
    return made;
  }

 private:
  template <class T>
  OB_TWIN_INLINE static Exact exact(T value) {
    const double rounded = static_cast<double>(value);
    return {rounded, static_cast<double>(static_cast<__int128>(value) - static_cast<__int128>(rounded))};
  }
};

template <class T>
OB_TWIN_INLINE T short_multiply(T a, T b) {
  // A product of two halves is exact in a float; one of two bfloat16 may be too small for that.
  if constexpr (std::is_same<typename T::Format, HalfFormat>::value) return T(float(a) * float(b));
  return T(double(float(a)) * double(float(b)));
}
template <class T>
OB_TWIN_INLINE T short_divide(T a, T b) {
  return T(double(float(a)) / double(float(b)));
}
template <class T>
OB_TWIN_INLINE T short_multiply_add(T a, T b, T c) {
  return T(to_odd(exact_sum(double(float(a)) * double(float(b)), double(float(c)))));
}
template <class T>
OB_TWIN_INLINE T short_saturate(T x) {
  return T(fminf(fmaxf(float(x), 0.0f), 1.0f));
}
// Where one side is a NaN, the other; and minus zero is less than zero.
template <class T>
OB_TWIN_INLINE T short_lesser(T a, T b) {
  if (float(a) != float(a)) return b;
  if (float(b) != float(b)) return a;
  if (float(a) == float(b)) return T::from_bits(a.__x | b.__x);
  return float(a) < float(b) ? a : b;
}
template <class T>
OB_TWIN_INLINE T short_greater(T a, T b) {
  if (float(a) != float(a)) return b;
  if (float(b) != float(b)) return a;
  if (float(a) == float(b)) return T::from_bits(a.__x & b.__x);
  return float(a) < float(b) ? b : a;
}
template <class T>
OB_TWIN_INLINE T short_nan_or(T a, T b, T otherwise) {
  return float(a) != float(a) || float(b) != float(b) ? T::from_bits(T::Format::kNan) : otherwise;
}
template <class T>
OB_TWIN_INLINE T truth(bool holds) {
  return T::from_bits(holds ? T::Format::kOne : 0);
}

}  // namespace opbridge_twin

// Operators ----------------------------------------------------------------------------------------------------------

#define OB_TWIN_SHORT_OPERATOR(sign, expression)                                                         \
  template <class T>                                                                                     \
  OB_TWIN_INLINE opbridge_twin::IfShort<T> operator sign(const T& a, const T& b) {                       \
    return expression;                                                                                   \
  }                                                                                                      \
  template <class T>                                                                                     \
  OB_TWIN_INLINE opbridge_twin::IfPair<T> operator sign(const T& a, const T& b) {                        \
    return {a.x sign b.x, a.y sign b.y};                                                                 \
  }                                                                                                      \
  template <class T>                                                                                     \
  OB_TWIN_INLINE opbridge_twin::IfShort<T>& operator sign## = (T & a, const opbridge_twin::Same<T>& b) { \
    return a = a sign b;                                                                                 \
  }                                                                                                      \
  template <class T>                                                                                     \
  OB_TWIN_INLINE opbridge_twin::IfPair<T>& operator sign## = (T & a, const opbridge_twin::Same<T>& b) {  \
    return a = a sign b;                                                                                 \
  }
OB_TWIN_SHORT_OPERATOR(+, T(float(a) + float(b)))
OB_TWIN_SHORT_OPERATOR(-, T(float(a) - float(b)))
OB_TWIN_SHORT_OPERATOR(*, opbridge_twin::short_multiply(a, b))
OB_TWIN_SHORT_OPERATOR(/, opbridge_twin::short_divide(a, b))
#undef OB_TWIN_SHORT_OPERATOR

template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T> operator-(const T& a) {
  return T::from_bits(a.__x ^ 0x8000u);
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T> operator+(const T& a) {
  return a;
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfPair<T> operator-(const T& a) {
  return {-a.x, -a.y};
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T>& operator++(T& a) {
  return a = a + T(1.0f);
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T>& operator--(T& a) {
  return a = a - T(1.0f);
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T> operator++(T& a, int) {
  const T before = a;
  ++a;
  return before;
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfShort<T> operator--(T& a, int) {
  const T before = a;
  --a;
  return before;
}

// Pairs compare as a whole.
#define OB_TWIN_PAIR_COMPARISON(sign, together)                            \
  template <class T, class = opbridge_twin::IfPair<T>>                     \
  OB_TWIN_INLINE bool operator sign(const T& a, const T& b) {              \
    return float(a.x) sign float(b.x) together float(a.y) sign float(b.y); \
  }
OB_TWIN_PAIR_COMPARISON(==, &&)
OB_TWIN_PAIR_COMPARISON(!=, ||)
OB_TWIN_PAIR_COMPARISON(<, &&)
OB_TWIN_PAIR_COMPARISON(<=, &&)
OB_TWIN_PAIR_COMPARISON(>, &&)
OB_TWIN_PAIR_COMPARISON(>=, &&)
#undef OB_TWIN_PAIR_COMPARISON

// Functions ----------------------------------------------------------------------------------------------------------

// A function of one number, and the same for both of a pair.
#define OB_TWIN_SHORT_1(name, pair_name, expression)             \
  template <class T>                                             \
  OB_TWIN_INLINE opbridge_twin::IfShort<T> name(const T a) {     \
    return expression;                                           \
  }                                                              \
  template <class T>                                             \
  OB_TWIN_INLINE opbridge_twin::IfPair<T> pair_name(const T a) { \
    return {name(a.x), name(a.y)};                               \
  }
#define OB_TWIN_SHORT_2(name, pair_name, expression)                                             \
  template <class T>                                                                             \
  OB_TWIN_INLINE opbridge_twin::IfShort<T> name(const T a, const opbridge_twin::Same<T> b) {     \
    return expression;                                                                           \
  }                                                                                              \
  template <class T>                                                                             \
  OB_TWIN_INLINE opbridge_twin::IfPair<T> pair_name(const T a, const opbridge_twin::Same<T> b) { \
    return {name(a.x, b.x), name(a.y, b.y)};                                                     \
  }
#define OB_TWIN_SHORT_3(name, pair_name, expression)                                           \
  template <class T>                                                                           \
  OB_TWIN_INLINE opbridge_twin::IfShort<T> name(const T a, const opbridge_twin::Same<T> b,     \
                                                const opbridge_twin::Same<T> c) {              \
    return expression;                                                                         \
  }                                                                                            \
  template <class T>                                                                           \
  OB_TWIN_INLINE opbridge_twin::IfPair<T> pair_name(const T a, const opbridge_twin::Same<T> b, \
                                                    const opbridge_twin::Same<T> c) {          \
    return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                                         \
  }

OB_TWIN_SHORT_2(__hadd, __hadd2, a + b)
OB_TWIN_SHORT_2(__hsub, __hsub2, a - b)
OB_TWIN_SHORT_2(__hmul, __hmul2, a* b)
OB_TWIN_SHORT_2(__hdiv, __h2div, a / b)
OB_TWIN_SHORT_2(__hadd_rn, __hadd2_rn, a + b)
OB_TWIN_SHORT_2(__hsub_rn, __hsub2_rn, a - b)
OB_TWIN_SHORT_2(__hmul_rn, __hmul2_rn, a* b)
OB_TWIN_SHORT_2(__hadd_sat, __hadd2_sat, opbridge_twin::short_saturate(a + b))
OB_TWIN_SHORT_2(__hsub_sat, __hsub2_sat, opbridge_twin::short_saturate(a - b))
OB_TWIN_SHORT_2(__hmul_sat, __hmul2_sat, opbridge_twin::short_saturate(a* b))
OB_TWIN_SHORT_3(__hfma, __hfma2, opbridge_twin::short_multiply_add(a, b, T(c)))
OB_TWIN_SHORT_3(__hfma_sat, __hfma2_sat, opbridge_twin::short_saturate(__hfma(a, b, c)))
OB_TWIN_SHORT_2(__hmin, __hmin2, opbridge_twin::short_lesser(a, T(b)))
OB_TWIN_SHORT_2(__hmax, __hmax2, opbridge_twin::short_greater(a, T(b)))
OB_TWIN_SHORT_2(__hmin_nan, __hmin2_nan, opbridge_twin::short_nan_or(a, T(b), __hmin(a, b)))
OB_TWIN_SHORT_2(__hmax_nan, __hmax2_nan, opbridge_twin::short_nan_or(a, T(b), __hmax(a, b)))
OB_TWIN_SHORT_3(__hfma_relu, __hfma2_relu, __hmax_nan(__hfma(a, b, c), T::from_bits(0)))
OB_TWIN_SHORT_1(__hneg, __hneg2, -a)
OB_TWIN_SHORT_1(__habs, __habs2, T::from_bits(a.__x & 0x7fffu))

OB_TWIN_SHORT_1(hsqrt, h2sqrt, T(sqrtf(float(a))))
OB_TWIN_SHORT_1(hrsqrt, h2rsqrt, T(1.0 / sqrt(double(float(a)))))
OB_TWIN_SHORT_1(hrcp, h2rcp, T(1.0 / double(float(a))))
OB_TWIN_SHORT_1(hexp, h2exp, T(expf(float(a))))
OB_TWIN_SHORT_1(hexp2, h2exp2, T(exp2f(float(a))))
OB_TWIN_SHORT_1(hexp10, h2exp10, T(exp10f(float(a))))
OB_TWIN_SHORT_1(hlog, h2log, T(logf(float(a))))
OB_TWIN_SHORT_1(hlog2, h2log2, T(log2f(float(a))))
OB_TWIN_SHORT_1(hlog10, h2log10, T(log10f(float(a))))
OB_TWIN_SHORT_1(hsin, h2sin, T(sinf(float(a))))
OB_TWIN_SHORT_1(hcos, h2cos, T(cosf(float(a))))
OB_TWIN_SHORT_1(htanh, h2tanh, T(tanhf(float(a))))
OB_TWIN_SHORT_1(htanh_approx, h2tanh_approx, T(tanhf(float(a))))
OB_TWIN_SHORT_1(hceil, h2ceil, T(ceilf(float(a))))
OB_TWIN_SHORT_1(hfloor, h2floor, T(floorf(float(a))))
OB_TWIN_SHORT_1(htrunc, h2trunc, T(truncf(float(a))))
OB_TWIN_SHORT_1(hrint, h2rint, T(nearbyintf(float(a))))
#undef OB_TWIN_SHORT_1
#undef OB_TWIN_SHORT_2
#undef OB_TWIN_SHORT_3

template <class T, class = opbridge_twin::IfShort<T>>
OB_TWIN_INLINE bool __hisnan(const T a) {
  return (a.__x & 0x7fff) > T::Format::kInfinity;
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfPair<T> __hisnan2(const T a) {
  using Element = opbridge_twin::ElementOf<T>;
  return {opbridge_twin::truth<Element>(__hisnan(a.x)), opbridge_twin::truth<Element>(__hisnan(a.y))};
}
template <class T, class = opbridge_twin::IfShort<T>>
OB_TWIN_INLINE int __hisinf(const T a) {
  return a.__x == T::Format::kInfinity ? 1 : a.__x == (T::Format::kInfinity | 0x8000) ? -1 : 0;
}

// Of numbers; of pairs, as ones and zeros, as a mask, and of both. A comparison with a NaN is false, and in the second
// form (with u) true.
#define OB_TWIN_SHORT_COMPARISON(name, ordered)                                                 \
  OB_TWIN_SHORT_COMPARISON_(__h##name, __h##name##2, __h##name##2_mask, __hb##name##2, ordered) \
  OB_TWIN_SHORT_COMPARISON_(__h##name##u, __h##name##u2, __h##name##u2_mask, __hb##name##u2,    \
                            (ordered) || a != a || b != b)
#define OB_TWIN_SHORT_COMPARISON_(name, pair_name, mask_name, both_name, holds)                            \
  template <class T, class = opbridge_twin::IfShort<T>>                                                    \
  OB_TWIN_INLINE bool name(const T left, const opbridge_twin::Same<T> right) {                             \
    const float a = left, b = right;                                                                       \
    return holds;                                                                                          \
  }                                                                                                        \
  template <class T>                                                                                       \
  OB_TWIN_INLINE opbridge_twin::IfPair<T> pair_name(const T a, const opbridge_twin::Same<T> b) {           \
    using Element = opbridge_twin::ElementOf<T>;                                                           \
    return {opbridge_twin::truth<Element>(name(a.x, b.x)), opbridge_twin::truth<Element>(name(a.y, b.y))}; \
  }                                                                                                        \
  template <class T, class = opbridge_twin::IfPair<T>>                                                     \
  OB_TWIN_INLINE unsigned mask_name(const T a, const opbridge_twin::Same<T> b) {                           \
    return (name(a.x, b.x) ? 0xffffu : 0) | (name(a.y, b.y) ? 0xffff0000u : 0);                            \
  }                                                                                                        \
  template <class T, class = opbridge_twin::IfPair<T>>                                                     \
  OB_TWIN_INLINE bool both_name(const T a, const opbridge_twin::Same<T> b) {                               \
    return name(a.x, b.x) && name(a.y, b.y);                                                               \
  }
OB_TWIN_SHORT_COMPARISON(eq, a == b)
OB_TWIN_SHORT_COMPARISON(ne, a<b || a> b)
OB_TWIN_SHORT_COMPARISON(lt, a < b)
OB_TWIN_SHORT_COMPARISON(le, a <= b)
OB_TWIN_SHORT_COMPARISON(gt, a > b)
OB_TWIN_SHORT_COMPARISON(ge, a >= b)
#undef OB_TWIN_SHORT_COMPARISON
#undef OB_TWIN_SHORT_COMPARISON_

template <class T>
OB_TWIN_INLINE opbridge_twin::IfPair<T> __hcmadd(const T a, const T b, const T c) {
  // (a.x + i a.y)(b.x + i b.y) + c, in the order of the hardware.
  return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

// Parts of pairs.
template <class T, class = opbridge_twin::IfPair<T>>
OB_TWIN_INLINE float __low2float(const T a) {
  return a.x;
}
template <class T, class = opbridge_twin::IfPair<T>>
OB_TWIN_INLINE float __high2float(const T a) {
  return a.y;
}
template <class T>
OB_TWIN_INLINE opbridge_twin::IfPair<T> __lowhigh2highlow(const T a) {
  return {a.y, a.x};
}

#endif
