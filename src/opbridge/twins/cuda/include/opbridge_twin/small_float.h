// What FP4, FP6 and FP8 have in common: a sign, an exponent and a fraction in at most a byte, and no arithmetic.
#ifndef OPBRIDGE_TWIN_SMALL_FLOAT_H
#define OPBRIDGE_TWIN_SMALL_FLOAT_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace opbridge_twin {

// Names as in the OCP specifications of 8-bit floating point and of microscaling formats.
struct SmallFormat {
  int digits;  // of the fraction
  int bias;
  unsigned char sign;  // its bit, above all others
  unsigned char most;  // the largest finite number
};
constexpr SmallFormat kE2m1{1, 1, 0x08, 0x07};
constexpr SmallFormat kE2m3{3, 1, 0x20, 0x1f};
constexpr SmallFormat kE3m2{2, 3, 0x20, 0x1f};
constexpr SmallFormat kE4m3{3, 7, 0x80, 0x7e};   // then one NaN
constexpr SmallFormat kE5m2{2, 15, 0x80, 0x7b};  // then an infinity and NaNs

// Returns the bits of a magnitude other than NaN; a number above `format.most` if it is too large.
OB_TWIN_INLINE unsigned small_size(double size, SmallFormat format, cudaRoundMode rounding) {
  const int least = 1 - format.bias, most = (format.most >> format.digits) - format.bias;
  if (size >= ldexp(2, most)) return format.most + 1u;
  int exponent = size == 0 ? least : ilogb(size);
  if (exponent < least) exponent = least;
  // In units of the last digit; a carry into the exponent is what the sum does by itself.
  const double units = ldexp(size, format.digits - exponent);
  const unsigned whole = static_cast<unsigned>(rounding == cudaRoundZero ? units : nearbyint(units));
  return (static_cast<unsigned>(exponent - least) << format.digits) + whole;
}

// `overflow` stands for all that is too large.
OB_TWIN_INLINE unsigned char narrow_small(double value, SmallFormat format, cudaRoundMode rounding, unsigned overflow) {
  const unsigned size = small_size(fabs(value), format, rounding);
  const unsigned sign = __builtin_signbit(value) ? format.sign : 0;
  return static_cast<unsigned char>(sign | (size <= format.most ? size : overflow));
}
// Without infinity and NaN: what is too large, or no number, becomes the largest.
OB_TWIN_INLINE unsigned char narrow_finite(double value, SmallFormat format, cudaRoundMode rounding) {
  return value != value ? format.most : narrow_small(value, format, rounding, format.most);
}

// Widens a finite number; bits above its sign belong to another one.
OB_TWIN_INLINE float widen_small(unsigned bits, SmallFormat format) {
  const unsigned size = bits & (format.sign - 1u), exponent = size >> format.digits;
  const unsigned fraction = size & ((1u << format.digits) - 1);
  const unsigned units = exponent == 0 ? fraction : fraction | 1u << format.digits;
  const int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias - format.digits;
  const float value = ldexpf(static_cast<float>(units), scale);
  return (bits & format.sign) != 0 ? -value : value;
}

// Without arithmetic, as on a GPU: it is converted and computed with in a wider type.  Type has `format`, and the
// functions `narrow` and `widen` for what conversions of the type do.
template <class Type>
struct SmallFloat {
  unsigned char __x;

  SmallFloat() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
  OB_TWIN_INLINE explicit SmallFloat(T value) : __x(Type::narrow(static_cast<double>(value))) {}
  OB_TWIN_INLINE explicit SmallFloat(__half value) : SmallFloat(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit SmallFloat(__nv_bfloat16 value) : SmallFloat(static_cast<float>(value)) {}
  OB_TWIN_INLINE explicit operator float() const { return Type::widen(__x); }
  OB_TWIN_INLINE explicit operator double() const { return Type::widen(__x); }
  OB_TWIN_INLINE explicit operator __half() const { return __half(Type::widen(__x)); }
  OB_TWIN_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(Type::widen(__x)); }
  OB_TWIN_INLINE explicit operator bool() const { return (__x & (Type::format.sign - 1)) != 0; }
};

// Two, the first in the lower byte, so that one access of memory moves both.
template <class Type>
struct SmallPair {
  unsigned short __x;

  SmallPair() = default;
  OB_TWIN_INLINE explicit SmallPair(double2 value)
      : __x(static_cast<unsigned short>(Type::narrow(value.x) | Type::narrow(value.y) << 8)) {}
  OB_TWIN_INLINE explicit SmallPair(float2 value) : SmallPair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit SmallPair(__half2 value) : SmallPair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit SmallPair(__nv_bfloat162 value) : SmallPair(double2{value.x, value.y}) {}
  OB_TWIN_INLINE explicit operator float2() const { return {element(0), element(1)}; }
  OB_TWIN_INLINE explicit operator __half2() const { return __half2(__half(element(0)), __half(element(1))); }

 private:
  OB_TWIN_INLINE float element(int at) const { return Type::widen(static_cast<unsigned char>(__x >> 8 * at)); }
};

// Two pairs, the lower first.
template <class Type>
struct SmallFour {
  unsigned __x;

  SmallFour() = default;
  OB_TWIN_INLINE SmallFour(double2 low, double2 high)
      : __x(SmallPair<Type>(low).__x | static_cast<unsigned>(SmallPair<Type>(high).__x) << 16) {}
  OB_TWIN_INLINE explicit SmallFour(double4 value) : SmallFour(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit SmallFour(float4 value) : SmallFour(double2{value.x, value.y}, double2{value.z, value.w}) {}
  OB_TWIN_INLINE explicit SmallFour(__half2 low, __half2 high)
      : SmallFour(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit SmallFour(__nv_bfloat162 low, __nv_bfloat162 high)
      : SmallFour(double2{low.x, low.y}, double2{high.x, high.y}) {}
  OB_TWIN_INLINE explicit operator float4() const { return {element(0), element(1), element(2), element(3)}; }

 private:
  OB_TWIN_INLINE float element(int at) const { return Type::widen(static_cast<unsigned char>(__x >> 8 * at)); }
};

}  // namespace opbridge_twin

// The three types of a format by NVIDIA's names: code may declare them as structs.
#define OB_TWIN_SMALL_TYPE(name, Base, Type, bytes)                                        \
  struct __attribute__((aligned(bytes))) name : opbridge_twin::Base<opbridge_twin::Type> { \
    using Base::Base;                                                                      \
    name() = default;                                                                      \
  };

#endif
