// Functions of vectors for which Ascend C lacks an instruction, made of those that it has.
//
// `to` differs from the operands.  The values of the vectors a and b and of the mask p are lost.  Masks have one bit
// per lane.
#ifndef OPBRIDGE_NPU_VECTORS_H
#define OPBRIDGE_NPU_VECTORS_H

#include <kernel_operator.h>

#include <cmath>
#include <type_traits>

namespace ob {
namespace [[gnu::visibility("hidden")]] npu {

using Vector = AscendC::LocalTensor<float>;
using Mask = AscendC::LocalTensor<uint8_t>;

// Comparisons are made of whole repeats of 256 bytes.
__aicore__ inline uint32_t whole(uint32_t n) { return (n + 63) / 64 * 64; }

// Elements of any type as floats, and back: rounded once, to nearest.
template <class U>
__aicore__ inline void widen(const Vector& to, const AscendC::LocalTensor<U>& from, uint32_t n) {
  if constexpr (std::is_same<U, float>::value) {
    AscendC::Muls(to, from, 1.0f, n);
  } else {
    AscendC::Cast(to, from, AscendC::RoundMode::CAST_NONE, n);
  }
}
template <class U>
__aicore__ inline void narrow(const AscendC::LocalTensor<U>& to, const Vector& from, uint32_t n) {
  if constexpr (std::is_same<U, float>::value) {
    AscendC::Muls(to, from, 1.0f, n);
  } else {
    AscendC::Cast(to, from, AscendC::RoundMode::CAST_RINT, n);
  }
}

// Reinterprets a vector as another type.
template <class U>
__aicore__ inline void rounded(const Vector& to, const Vector& x, const Vector& a, uint32_t n) {
  const AscendC::LocalTensor<U> narrowed = a.ReinterpretCast<U>();
  narrow(narrowed, x, n);
  widen(to, narrowed, n);
}

// 1 where a mask is true, else 0.
__aicore__ inline void to_numbers(const Vector& to, const Mask& mask, uint32_t n) {
  AscendC::Duplicate(to, 1.0f, n);
  AscendC::Select(to, mask, to, 0.0f, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
}

__aicore__ inline void choose(const Vector& to, const Mask& mask, const Vector& x, const Vector& y, uint32_t n) {
  AscendC::Select(to, mask, x, y, AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
}
__aicore__ inline void choose(const Vector& to, const Mask& mask, const Vector& x, float y, uint32_t n) {
  AscendC::Select(to, mask, x, y, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
}

// Masks combine 16 lanes at a time.
__aicore__ inline AscendC::LocalTensor<uint16_t> words(const Mask& mask) { return mask.ReinterpretCast<uint16_t>(); }
__aicore__ inline uint32_t words_of(uint32_t n) { return (n + 15) / 16; }

__aicore__ inline void all_of(const Mask& to, bool value, uint32_t n) {
  AscendC::Duplicate(words(to), static_cast<uint16_t>(value ? 0xFFFF : 0), words_of(n));
}
__aicore__ inline void neither(const Mask& to, const Mask& x, uint32_t n) {
  AscendC::Not(words(to), words(x), words_of(n));
}
__aicore__ inline void both(const Mask& to, const Mask& x, const Mask& y, uint32_t n) {
  AscendC::And(words(to), words(x), words(y), words_of(n));
}
__aicore__ inline void either(const Mask& to, const Mask& x, const Mask& y, uint32_t n) {
  AscendC::Or(words(to), words(x), words(y), words_of(n));
}
__aicore__ inline void one_of(const Mask& to, const Mask& x, const Mask& y, const Mask& p, uint32_t n) {
  both(p, x, y, n);
  neither(p, p, n);
  either(to, x, y, n);
  both(to, to, p, n);
}
__aicore__ inline void choose(const Mask& to, const Mask& mask, const Mask& x, const Mask& y, const Mask& p,
                              uint32_t n) {
  neither(p, mask, n);
  both(p, p, y, n);
  both(to, mask, x, n);
  either(to, to, p, n);
}

// Quotients by the exact instruction: Reciprocal and Rsqrt are approximations on hardware.
__aicore__ inline void reciprocal(const Vector& to, const Vector& x, const Vector& a, uint32_t n) {
  AscendC::Duplicate(a, 1.0f, n);
  AscendC::Div(to, a, x, n);
}
__aicore__ inline void rsqrt(const Vector& to, const Vector& x, const Vector& a, uint32_t n) {
  AscendC::Sqrt(a, x, n);
  AscendC::Duplicate(to, 1.0f, n);
  AscendC::Div(to, to, a, n);
}
__aicore__ inline void sigmoid(const Vector& to, const Vector& x, const Vector& a, uint32_t n) {
  AscendC::Muls(a, x, -1.0f, n);
  AscendC::Exp(a, a, n);
  AscendC::Adds(a, a, 1.0f, n);
  AscendC::Duplicate(to, 1.0f, n);
  AscendC::Div(to, to, a, n);
}

// tanh(x / 2) * (exp(x) + 1), which is exact near zero.
__aicore__ inline void expm1(const Vector& to, const Vector& x, const Vector& a, const Vector& b, uint32_t n) {
  AscendC::Muls(a, x, 0.5f, n);
  AscendC::Tanh(b, a, n);
  AscendC::Exp(to, x, n);
  AscendC::Adds(to, to, 1.0f, n);
  AscendC::Mul(to, to, b, n);
}
// log(u) + (x - (u - 1)) / u for u = 1 + x, where the second part is the part of x that u has lost; it is NaN at -1 and
// infinity.  -0.0 stays -0.0.
__aicore__ inline void log1p(const Vector& to, const Vector& x, const Vector& a, const Vector& b, const Mask& p,
                             uint32_t n) {
  AscendC::Adds(a, x, 1.0f, n);
  AscendC::Adds(b, a, -1.0f, n);
  AscendC::Sub(b, x, b, n);
  AscendC::Div(b, b, a, n);
  AscendC::Compare(p, b, b, AscendC::CMPMODE::EQ, whole(n));
  choose(b, p, b, 0.0f, n);
  AscendC::Ln(to, a, n);
  AscendC::Add(to, to, b, n);
  AscendC::CompareScalar(p, x, 0.0f, AscendC::CMPMODE::NE, whole(n));
  choose(to, p, to, x, n);
}

// A NaN of either is passed on.
__aicore__ inline void with_nans(const Vector& to, const Vector& x, const Vector& y, const Mask& p, uint32_t n) {
  AscendC::Compare(p, x, x, AscendC::CMPMODE::EQ, whole(n));
  choose(to, p, to, x, n);
  AscendC::Compare(p, y, y, AscendC::CMPMODE::EQ, whole(n));
  choose(to, p, to, y, n);
}
__aicore__ inline void maximum(const Vector& to, const Vector& x, const Vector& y, const Mask& p, uint32_t n) {
  AscendC::Max(to, x, y, n);
  with_nans(to, x, y, p, n);
}
__aicore__ inline void minimum(const Vector& to, const Vector& x, const Vector& y, const Mask& p, uint32_t n) {
  AscendC::Min(to, x, y, n);
  with_nans(to, x, y, p, n);
}

__aicore__ inline void is_infinite(const Mask& to, const Vector& x, const Vector& a, uint32_t n) {
  AscendC::Abs(a, x, n);
  AscendC::CompareScalar(to, a, static_cast<float>(INFINITY), AscendC::CMPMODE::EQ, whole(n));
}
__aicore__ inline void is_finite(const Mask& to, const Vector& x, const Vector& a, uint32_t n) {
  AscendC::Abs(a, x, n);
  AscendC::CompareScalar(to, a, static_cast<float>(INFINITY), AscendC::CMPMODE::LT, whole(n));
}
// Zero for an infinity: what is taken from infinities before they are summed up.
__aicore__ inline void without_infinity(const Vector& x, const Vector& a, const Mask& p, uint32_t n) {
  AscendC::Abs(a, x, n);
  AscendC::CompareScalar(p, a, static_cast<float>(INFINITY), AscendC::CMPMODE::NE, whole(n));
  choose(x, p, x, 0.0f, n);
}

// 0 for a NaN, which no comparison takes.
__aicore__ inline void sign(const Vector& to, const Vector& x, const Vector& a, const Mask& p, uint32_t n) {
  AscendC::CompareScalar(p, x, 0.0f, AscendC::CMPMODE::GT, whole(n));
  to_numbers(to, p, n);
  AscendC::CompareScalar(p, x, 0.0f, AscendC::CMPMODE::LT, whole(n));
  to_numbers(a, p, n);
  AscendC::Sub(to, to, a, n);
}

// Takes 1 from x where `left` is on the other side of zero than y; `a` is lost.
__aicore__ inline void take_one_across(const Vector& x, const Vector& left, const Vector& y, const Vector& a,
                                       const Mask& p, const Mask& q, uint32_t n) {
  AscendC::CompareScalar(p, left, 0.0f, AscendC::CMPMODE::LT, whole(n));
  AscendC::CompareScalar(q, y, 0.0f, AscendC::CMPMODE::GT, whole(n));
  both(p, p, q, n);
  to_numbers(a, p, n);
  AscendC::Sub(x, x, a, n);
  AscendC::CompareScalar(p, left, 0.0f, AscendC::CMPMODE::GT, whole(n));
  AscendC::CompareScalar(q, y, 0.0f, AscendC::CMPMODE::LT, whole(n));
  both(p, p, q, n);
  to_numbers(a, p, n);
  AscendC::Sub(x, x, a, n);
}

// Computed from the remainder, in the steps of ob::floor_divide in element.h.
__aicore__ inline void floor_divide(const Vector& to, const Vector& x, const Vector& y, const Vector& a,
                                    const Vector& b, const Mask& p, const Mask& q, uint32_t n) {
  AscendC::Fmod(a, x, y, n);
  AscendC::Sub(b, x, a, n);
  AscendC::Div(b, b, y, n);
  take_one_across(b, a, y, to, p, q, n);
  AscendC::Cast(to, b, AscendC::RoundMode::CAST_FLOOR, n);
  AscendC::Sub(a, b, to, n);
  AscendC::CompareScalar(p, a, 0.5f, AscendC::CMPMODE::GT, whole(n));
  to_numbers(a, p, n);
  AscendC::Add(to, to, a, n);
  AscendC::CompareScalar(p, b, 0.0f, AscendC::CMPMODE::NE, whole(n));
  AscendC::Div(a, x, y, n);
  AscendC::Muls(b, a, 0.0f, n);
  choose(to, p, to, b, n);  // a zero has the quotient's sign
  AscendC::CompareScalar(p, y, 0.0f, AscendC::CMPMODE::NE, whole(n));
  choose(to, p, to, a, n);
}
// Has the divisor's sign: the divisor is added to a remainder of the other sign.
__aicore__ inline void remainder(const Vector& to, const Vector& x, const Vector& y, const Vector& a, const Vector& b,
                                 const Mask& p, const Mask& q, uint32_t n) {
  AscendC::Fmod(a, x, y, n);
  AscendC::Add(b, a, y, n);
  AscendC::CompareScalar(p, a, 0.0f, AscendC::CMPMODE::LT, whole(n));
  choose(to, p, b, a, n);  // below zero: right where the divisor is above
  AscendC::CompareScalar(q, y, 0.0f, AscendC::CMPMODE::LT, whole(n));
  both(p, p, q, n);
  choose(to, p, a, to, n);  // both below
  AscendC::CompareScalar(p, a, 0.0f, AscendC::CMPMODE::GT, whole(n));
  both(p, p, q, n);
  choose(to, p, b, to, n);
}

}  // namespace npu
}  // namespace ob
#endif
