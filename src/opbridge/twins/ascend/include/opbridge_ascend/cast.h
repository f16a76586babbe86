// Cast: the documented pairs of element types, every RoundMode.  What does not fit becomes the nearest value that does.
#ifndef OPBRIDGE_ASCEND_CAST_H
#define OPBRIDGE_ASCEND_CAST_H

#include <math.h>

#include <limits>
#include <type_traits>

#include "lanes.h"
#include "types.h"

namespace AscendC {

// What becomes of what the narrower type cannot hold.
enum class RoundMode : uint8_t {
  CAST_NONE = 0,  // CAST_RINT where something is lost
  CAST_RINT,      // half to even
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,  // half away from zero
  CAST_TRUNC,
  CAST_ODD,  // what lies between two numbers becomes the odd one
};

namespace detail {

template <class T>
constexpr bool is_integer = std::is_integral<T>::value;

template <class Wide>
Wide rounded(Wide value, RoundMode mode) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return std::floor(value);
    case RoundMode::CAST_CEIL:
      return std::ceil(value);
    case RoundMode::CAST_ROUND:
      return std::round(value);
    case RoundMode::CAST_TRUNC:
      return std::trunc(value);
    case RoundMode::CAST_ODD: {
      const Wide whole = std::trunc(value);
      return whole == value || std::fmod(whole, Wide(2)) != 0 ? whole : whole + std::copysign(Wide(1), value);
    }
    default:
      return std::nearbyint(value);
  }
}

// To a type with fewer digits.
template <class D, class Wide>
D on_grid(Wide value, RoundMode mode) {
  using Limits = std::numeric_limits<D>;
  if (!std::isfinite(value) || value == 0) return D(static_cast<float>(value));
  int exponent;
  std::frexp(value, &exponent);
  const int ulp = (exponent > Limits::min_exponent ? exponent : Limits::min_exponent) - Limits::digits;
  const Wide nearest = std::ldexp(rounded(std::ldexp(value, -ulp), mode), ulp);
  const Wide most = static_cast<float>(Limits::max());
  return D(static_cast<float>(nearest > most ? most : nearest < -most ? -most : nearest));
}

template <class D, class Wide>
D to_integer(Wide value, RoundMode mode) {
  using Limits = std::numeric_limits<D>;
  const Wide whole = rounded(value, mode);
  if (!(whole == whole)) return 0;
  // The largest value of 32 and 64 bits may not be one of Wide's; one more always is.
  const Wide end = std::ldexp(Wide(1), Limits::digits);
  if (whole >= end) return Limits::max();
  return whole < Wide(Limits::min()) ? Limits::min() : static_cast<D>(whole);
}

template <class D, class S>
D converted(S value, RoundMode mode) {
  using Wide = std::conditional_t<sizeof(S) == 8 || sizeof(D) == 8, long double, double>;
  if constexpr (is_integer<S> && is_integer<D>) {
    using Limits = std::numeric_limits<D>;
    if (value > 0 && static_cast<uint64_t>(value) > static_cast<uint64_t>(Limits::max())) return Limits::max();
    if (value < 0 && static_cast<int64_t>(value) < static_cast<int64_t>(Limits::min())) return Limits::min();
    return static_cast<D>(value);
  } else if constexpr (is_integer<D>) {
    return to_integer<D>(static_cast<Wide>(static_cast<float>(value)), mode);
  } else if constexpr (std::is_same<D, float>::value && std::is_same<S, float>::value) {
    return rounded(value, mode);
  } else if constexpr (std::is_same<D, float>::value && !is_integer<S>) {
    return static_cast<float>(value);
  } else if constexpr (is_integer<S>) {
    return on_grid<D>(static_cast<Wide>(value), mode);
  } else {
    return on_grid<D>(static_cast<double>(static_cast<float>(value)), mode);
  }
}

// The usual case, as a loop of vector instructions: float to half or bfloat16, to nearest.
template <class D>
float nearest(float value) {
  const auto most = static_cast<float>(std::numeric_limits<D>::max());
  const float inside = value > most ? most : value < -most ? -most : value;
  return std::fabs(value) == INFINITY ? value : inside;
}

inline int32_t half_byte(const uint8_t* bytes, uint32_t i) {
  const int32_t four = bytes[i / 2] >> (i % 2 * 4) & 15;
  return four < 8 ? four : four - 16;
}

// Two to a byte, the first of them in the lower bits; beyond -8 and 7 they stay there.
inline void cast_count(Instruction& instruction, uint32_t count, RoundMode mode, const LocalTensor<int4b_t>& dst,
                       const LocalTensor<half>& src) {
  constexpr float kLeast = -8, kMost = 7;
  instruction.requires_that(count % 2 == 0, "count", count, "an even number: two int4b_t are one byte");
  const auto lanes = Lanes::first(instruction, count);
  reads(instruction, lanes, Strided<half>{src}, "src");
  instruction.aligned(dst.start(), "dst");
  instruction.writes(dst.memory(), dst.data(), count / 2);
  auto* const bytes = reinterpret_cast<uint8_t*>(dst.data());
  for (uint32_t i = 0; i < count; ++i) {
    const float whole = rounded(float(src.data()[i]), mode);
    const auto four = static_cast<uint8_t>(static_cast<int32_t>(whole < kLeast   ? kLeast
                                                                : whole > kMost  ? kMost
                                                                : whole == whole ? whole
                                                                                 : 0) &
                                           15);
    bytes[i / 2] = static_cast<uint8_t>(i % 2 == 0 ? four : bytes[i / 2] | four << 4);
  }
}
inline void cast_count(Instruction& instruction, uint32_t count, RoundMode, const LocalTensor<half>& dst,
                       const LocalTensor<int4b_t>& src) {
  instruction.requires_that(count % 2 == 0, "count", count, "an even number: two int4b_t are one byte");
  instruction.aligned(src.start(), "src");
  instruction.reads(src.memory(), src.data(), count / 2);
  writes(instruction, Lanes::first(instruction, count), Strided<half>{dst}, "dst");
  const auto* const bytes = reinterpret_cast<const uint8_t*>(src.data());
  for (uint32_t i = 0; i < count; ++i) dst.data()[i] = half(static_cast<float>(half_byte(bytes, i)));
}

template <class D, class S>
void cast(Instruction& instruction, const Lanes& lanes, RoundMode mode, const Strided<D>& dst, const Strided<S>& src) {
  OPBRIDGE_ASCEND_PAIRS("Cast", D, S, float(half), int32_t(half), int16_t(half), int8_t(half), uint8_t(half),
                        float(float), half(float), int64_t(float), int32_t(float), int16_t(float), bfloat16_t(float),
                        float(bfloat16_t), int32_t(bfloat16_t), half(uint8_t), half(int8_t), half(int16_t),
                        float(int16_t), float(int32_t), int64_t(int32_t), int16_t(int32_t), half(int32_t),
                        int32_t(int64_t), float(int64_t));
  if constexpr (std::is_same<S, int32_t>::value && std::is_same<D, half>::value) {
    const double scale = opbridge_ascend::registers().deq_scale;
    return unary(instruction, lanes, [mode, scale](S value) { return on_grid<D>(value * scale, mode); }, dst, src);
  }
  if constexpr (std::is_same<S, float>::value && (std::is_same<D, half>::value || std::is_same<D, bfloat16_t>::value)) {
    if (mode == RoundMode::CAST_RINT || mode == RoundMode::CAST_NONE) {
      return unary(instruction, lanes, [](float value) { return nearest<D>(value); }, dst, src);
    }
  }
  unary(instruction, lanes, [mode](auto value) { return converted<D>(value, mode); }, dst, src);
}

template <class D, class S>
void cast_count(Instruction& instruction, uint32_t count, RoundMode mode, const LocalTensor<D>& dst,
                const LocalTensor<S>& src) {
  cast(instruction, Lanes::first(instruction, count), mode, Strided<D>{dst}, Strided<S>{src});
}

}  // namespace detail

template <class T, class U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint32_t count,
          Place at = Place::here()) {
  Instruction instruction("Cast", PIPE_V, at);
  detail::cast_count(instruction, count, mode, dst, src);
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, detail::Mask mask,
          int32_t repeats, const UnaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Cast", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, detail::widest<T, U>());
  detail::cast(instruction, lanes, mode, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride},
               detail::Strided<U>{src, p.srcBlkStride, p.srcRepStride});
}

// What Cast from int32_t to half multiplies by.
inline void SetDeqScale(half scale) { opbridge_ascend::registers().deq_scale = scale; }

// Converts single numbers.
template <class T, class U, RoundMode mode>
U ScalarCast(T value) {
  return detail::converted<U>(value, mode);
}
template <class T, class U, RoundMode mode>
U Cast(T value) {
  return detail::converted<U>(value, mode);
}

}  // namespace AscendC
#endif
