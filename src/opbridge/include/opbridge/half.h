// ob::half and ob::bfloat16: 16 bits in memory, arithmetic through float.
//
// An operation on two halves rounds to nearest even and gives a half; mixed with another arithmetic type it follows
// that type, as in `half + float -> float`.  Kernels that keep a running value should keep it in `ob::opmath<T>`.
#ifndef OPBRIDGE_HALF_H
#define OPBRIDGE_HALF_H

#include <limits>
#include <type_traits>

#include "dtype.h"

// The compiler's half, if the processor converts or computes with it; results equal those through float.  On aarch64
// this name always exists, the other one only since GCC 13.
#if defined(__CUDACC__)
#elif defined(__aarch64__)
#define OB_NATIVE_HALF __fp16
#elif defined(__AVX512FP16__)
#define OB_NATIVE_HALF _Float16
#endif

// A GPU has one instruction for this: profiled code calls it, and the profile counts the call instead of its body.
#if defined(OPBRIDGE_TWIN_PROFILE)
#define OB_ONE_INSTRUCTION [[gnu::noinline]]
#else
#define OB_ONE_INSTRUCTION
#endif

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

template <class To, class From>
OB_HOST_DEVICE inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as changes the type, not the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// By mask and not by `?:`, which the compiler would turn into a branch around the floating-point operation of one side;
// a branch in the body keeps a loop from becoming vector code.
OB_HOST_DEVICE inline uint32_t select(bool condition, uint32_t yes, uint32_t no) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

// No path meets a subnormal float, which a thread may be set to flush to zero.
OB_ONE_INSTRUCTION OB_HOST_DEVICE inline float half_to_float(uint16_t half) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#elif defined(OB_NATIVE_HALF)
  return static_cast<float>(bits_as<OB_NATIVE_HALF>(half));
#else
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffu) << 13;
  const uint32_t normal = magnitude + ((127u - 15u) << 23);
  const uint32_t infinite_or_nan = magnitude + ((255u - 31u) << 23);
  const float smallest_normal = bits_as<float>(113u << 23);
  const uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(magnitude + (113u << 23)) - smallest_normal);
  const uint32_t finite = select(magnitude < (1u << 23), subnormal, normal);
  return bits_as<float>(sign | select(magnitude >= (31u << 23), infinite_or_nan, finite));
#endif
}

OB_ONE_INSTRUCTION OB_HOST_DEVICE inline uint16_t float_to_half(float value) {
#if defined(__CUDA_ARCH__)
  uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#elif defined(OB_NATIVE_HALF)
  return bits_as<uint16_t>(static_cast<OB_NATIVE_HALF>(value));
#else
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000u;
  const uint32_t magnitude = bits ^ sign;
  const uint32_t odd = (magnitude >> 13) & 1u;
  const uint32_t normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + odd) >> 13;
  // Adding 0.5 moves a half's subnormal into the low bits of a float, and the adder rounds it.
  const uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(magnitude) + 0.5f) - bits_as<uint32_t>(0.5f);
  const uint32_t finite = select(magnitude < (113u << 23), subnormal, normal);
  const uint32_t infinite_or_nan = select(magnitude > (255u << 23), 0x7e00u, 0x7c00u);
  return static_cast<uint16_t>(select(magnitude >= (143u << 23), infinite_or_nan, finite) | (sign >> 16));
#endif
}

OB_HOST_DEVICE inline float bfloat16_to_float(uint16_t bits) {
  return bits_as<float>(static_cast<uint32_t>(bits) << 16);
}

OB_ONE_INSTRUCTION OB_HOST_DEVICE inline uint16_t float_to_bfloat16(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  uint16_t bfloat16;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bfloat16) : "f"(value));
  return bfloat16;
#else
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const uint32_t quiet_nan = bits | 0x400000u;
  return static_cast<uint16_t>(select((bits & 0x7fffffffu) > (255u << 23), quiet_nan, rounded) >> 16);
#endif
}

// The same by arithmetic alone, for constants, in types with that many bits after the first.
OB_HOST_DEVICE constexpr uint16_t constant_bits(float value, int digits, int least_exponent, uint16_t infinity) {
  if (value != value) return static_cast<uint16_t>(infinity | (1u << (digits - 1)));
  const uint16_t sign = __builtin_copysignf(1.0f, value) < 0 ? 0x8000 : 0;
  const float magnitude = sign != 0 ? -value : value;
  if (magnitude > 3.402823466e38f) return static_cast<uint16_t>(sign | infinity);
  float scale = 1;
  for (int i = least_exponent; i < 0; ++i) scale /= 2;
  uint32_t exponent = 0;
  for (; magnitude / 2 >= scale; scale *= 2) ++exponent;
  const float units = magnitude / scale * static_cast<float>(1u << digits);
  uint32_t whole = static_cast<uint32_t>(units);
  const float rest = units - static_cast<float>(whole);
  if (rest > 0.5f || (rest == 0.5f && whole % 2 != 0)) ++whole;
  const uint32_t bits = (exponent << digits) + whole;
  return static_cast<uint16_t>(sign | (bits < infinity ? bits : infinity));
}

}  // namespace detail

// IEEE's binary16. Arithmetic rounds after each operation, as a processor with such registers does; sums belong in
// opmath<half>.
struct half {
  uint16_t bits;

  half() = default;
  OB_HOST_DEVICE constexpr half(float value)
      : bits(__builtin_is_constant_evaluated() ? detail::constant_bits(value, 10, -14, 0x7c00)
                                               : detail::float_to_half(value)) {}
  OB_HOST_DEVICE operator float() const { return detail::half_to_float(bits); }
  OB_HOST_DEVICE static constexpr half from_bits(uint16_t bits) { return half(bits, 0); }

 private:
  OB_HOST_DEVICE constexpr half(uint16_t raw, int) : bits(raw) {}
};

// The upper half of a float: its range, with 8 bits of precision; otherwise as half.
struct bfloat16 {
  uint16_t bits;

  bfloat16() = default;
  OB_HOST_DEVICE constexpr bfloat16(float value)
      : bits(__builtin_is_constant_evaluated() ? detail::constant_bits(value, 7, -126, 0x7f80)
                                               : detail::float_to_bfloat16(value)) {}
  OB_HOST_DEVICE operator float() const { return detail::bfloat16_to_float(bits); }
  OB_HOST_DEVICE static constexpr bfloat16 from_bits(uint16_t bits) { return bfloat16(bits, 0); }

 private:
  OB_HOST_DEVICE constexpr bfloat16(uint16_t raw, int) : bits(raw) {}
};

namespace [[gnu::visibility("hidden")]] detail {

OB_ELEMENT(half, float16)
OB_ELEMENT(bfloat16, bfloat16)

template <class T>
constexpr bool is_short_float = std::is_same<T, half>::value || std::is_same<T, bfloat16>::value;

template <class T>
using IfShortFloat = std::enable_if_t<is_short_float<T>, T>;

}  // namespace detail

// The type to compute in: float for the 16-bit types, T itself for all others.
template <class T>
using opmath = std::conditional_t<detail::is_short_float<T>, float, T>;

// Templates, because a deduced parameter admits no conversion: `half + float` and `half + half` never compete.
#if defined(OB_NATIVE_HALF)
#define OB_SHORT_OPERATOR(op)                                                                   \
  template <class T>                                                                            \
  inline detail::IfShortFloat<T> operator op(T a, T b) {                                        \
    if constexpr (std::is_same<T, half>::value) {                                               \
      using Native = OB_NATIVE_HALF;                                                            \
      const Native result = detail::bits_as<Native>(a.bits) op detail::bits_as<Native>(b.bits); \
      return half::from_bits(detail::bits_as<uint16_t>(result));                                \
    } else {                                                                                    \
      return T(float(a) op float(b));                                                           \
    }                                                                                           \
  }
#else
#define OB_SHORT_OPERATOR(op)                                           \
  template <class T>                                                    \
  OB_HOST_DEVICE inline detail::IfShortFloat<T> operator op(T a, T b) { \
    return T(float(a) op float(b));                                     \
  }
#endif
OB_SHORT_OPERATOR(+)
OB_SHORT_OPERATOR(-)
OB_SHORT_OPERATOR(*)
OB_SHORT_OPERATOR(/)
#undef OB_SHORT_OPERATOR

#define OB_SHORT_ASSIGNMENT(op)                                                              \
  template <class T, class Other>                                                            \
  OB_HOST_DEVICE inline detail::IfShortFloat<T>& operator op## = (T & target, Other value) { \
    return target = T(target op value);                                                      \
  }
OB_SHORT_ASSIGNMENT(+)
OB_SHORT_ASSIGNMENT(-)
OB_SHORT_ASSIGNMENT(*)
OB_SHORT_ASSIGNMENT(/)
#undef OB_SHORT_ASSIGNMENT

template <class T>
OB_HOST_DEVICE constexpr detail::IfShortFloat<T> operator-(T value) {
  return T::from_bits(static_cast<uint16_t>(value.bits ^ 0x8000u));
}

}  // namespace ob

namespace std {

// Without these, std::numeric_limits<ob::half>::infinity() would compile and be zero.
#define OB_SHORT_LIMITS(type, digits_, digits10_, max_digits10_, min_exp, min_exp10, max_exp, max_exp10, min_, max_, \
                        epsilon_, infinity_, nan_, subnormal_)                                                       \
  template <>                                                                                                        \
  struct numeric_limits<type> : numeric_limits<float> {                                                              \
    static constexpr int digits = digits_, digits10 = digits10_, max_digits10 = max_digits10_;                       \
    static constexpr int min_exponent = min_exp, min_exponent10 = min_exp10;                                         \
    static constexpr int max_exponent = max_exp, max_exponent10 = max_exp10;                                         \
    OB_HOST_DEVICE static constexpr type min() { return type::from_bits(min_); }                                     \
    OB_HOST_DEVICE static constexpr type max() { return type::from_bits(max_); }                                     \
    OB_HOST_DEVICE static constexpr type lowest() { return type::from_bits(max_ | 0x8000); }                         \
    OB_HOST_DEVICE static constexpr type epsilon() { return type::from_bits(epsilon_); }                             \
    OB_HOST_DEVICE static constexpr type infinity() { return type::from_bits(infinity_); }                           \
    OB_HOST_DEVICE static constexpr type quiet_NaN() { return type::from_bits(nan_); }                               \
    OB_HOST_DEVICE static constexpr type denorm_min() { return type::from_bits(subnormal_); }                        \
  };
OB_SHORT_LIMITS(ob::half, 11, 3, 5, -13, -4, 16, 4, 0x0400, 0x7bff, 0x1400, 0x7c00, 0x7e00, 0x0001)
OB_SHORT_LIMITS(ob::bfloat16, 8, 2, 4, -125, -37, 128, 38, 0x0080, 0x7f7f, 0x3c00, 0x7f80, 0x7fc0, 0x0001)
#undef OB_SHORT_LIMITS

}  // namespace std
#endif
