// Compare: a bit for each element, in memory or in the register CMPMASK.
#ifndef OPBRIDGE_ASCEND_COMPARE_H
#define OPBRIDGE_ASCEND_COMPARE_H

#include <string.h>

#include "lanes.h"
#include "types.h"

namespace AscendC {

// As C++ compares, so every comparison with a NaN is false but for NE.
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };

namespace detail {

template <class T>
bool holds(CMPMODE mode, T a, T b) {
  switch (mode) {
    case CMPMODE::LT:
      return a < b;
    case CMPMODE::GT:
      return a > b;
    case CMPMODE::EQ:
      return a == b;
    case CMPMODE::LE:
      return a <= b;
    case CMPMODE::GE:
      return a >= b;
    default:
      return a != b;
  }
}

inline bool bit(const void* bits, uint32_t i) { return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0; }

inline void set_bit(void* bits, uint32_t i, bool value) {
  uint8_t& byte = static_cast<uint8_t*>(bits)[i / 8];
  byte = static_cast<uint8_t>((byte & ~(1u << i % 8)) | unsigned{value} << i % 8);
}

// The elements of a count as repeats, so that there is one loop over bits.
template <class T>
Lanes whole_repeats(Instruction& instruction, uint32_t count) {
  const uint64_t bytes = uint64_t{count} * sizeof(T);
  instruction.requires_that(bytes % kRepeatBytes == 0, "count", count,
                            "elements of a multiple of 256 bytes: Compare works on whole repeats");
  return Lanes::first(instruction, count);
}

// With a destination in memory, Compare does whole repeats whatever the mask says; the form by CMPMASK heeds it.
inline Lanes all_of(Lanes lanes) {
  set_first(lanes.mask, lanes.per_repeat);
  return lanes;
}

// f(position of the bit, a, b) for each lane that takes part.
template <class T, class F>
void for_each_bit(const Lanes& lanes, const Strided<T>& src0, const Strided<T>& src1, F f) {
  if (lanes.contiguous) {
    for (uint32_t i = 0; i < lanes.total; ++i) f(i, src0.tensor.data()[i], src1.tensor.data()[i]);
    return;
  }
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) f(r * lanes.per_repeat + i, *src0.at(r, i), *src1.at(r, i));
    }
  }
}

inline uint32_t bits_in(const Lanes& lanes) {
  return lanes.contiguous ? lanes.total : lanes.repeats * lanes.per_repeat;
}

template <class T, class U>
void check_comparison(Instruction& instruction, CMPMODE mode) {
  OPBRIDGE_ASCEND_TYPES("Compare", T, half, float, int32_t);
  OPBRIDGE_ASCEND_TYPES("The destination of Compare", U, uint8_t, int8_t);
  instruction.requires_that(!std::is_same<T, int32_t>::value || mode == CMPMODE::EQ, "cmpMode", static_cast<int>(mode),
                            "CMPMODE::EQ (2), the only comparison of int32_t");
}

// The bytes of bits that were made of unknown elements alone.
template <class U>
void spread_to_bits(Instruction& instruction, const Unknown& unknown, const LocalTensor<U>& dst, uint32_t bits) {
  if (!unknown.any()) return;
  for (uint32_t first = 0; first < bits; first += 8) {
    bool all = true;
    for (uint32_t i = first; i < first + 8 && i < bits; ++i) all = all && unknown.has(i);
    if (all) instruction.forget(dst.memory(), reinterpret_cast<const uint8_t*>(dst.data()) + first / 8, 1);
  }
}

template <class T, class U>
void compare(Instruction& instruction, const Lanes& lanes, CMPMODE mode, const LocalTensor<U>& dst,
             const Strided<T>& src0, const Strided<T>& src1) {
  check_comparison<T, U>(instruction, mode);
  Unknown unknown;
  unknown.look(instruction, lanes, src0, "src0");
  unknown.look(instruction, lanes, src1, "src1");
  instruction.aligned(dst.start(), "dst");
  instruction.writes(dst.memory(), dst.data(), (bits_in(lanes) + 7) / 8);
  for_each_bit(lanes, src0, src1, [&](uint32_t i, T a, T b) { set_bit(dst.data(), i, holds(mode, a, b)); });
  spread_to_bits(instruction, unknown, dst, bits_in(lanes));
}

template <class T, class U>
void compare_scalar(Instruction& instruction, const Lanes& lanes, CMPMODE mode, const LocalTensor<U>& dst,
                    const Strided<T>& src, T scalar) {
  instruction.takes(scalar);
  check_comparison<T, U>(instruction, mode);
  Unknown unknown;
  unknown.look(instruction, lanes, src, "src0");
  instruction.aligned(dst.start(), "dst");
  instruction.writes(dst.memory(), dst.data(), (bits_in(lanes) + 7) / 8);
  for_each_bit(lanes, src, src, [&](uint32_t i, T a, T) { set_bit(dst.data(), i, holds(mode, a, scalar)); });
  spread_to_bits(instruction, unknown, dst, bits_in(lanes));
}

}  // namespace detail

template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             uint32_t count, Place at = Place::here()) {
  Instruction instruction("Compare", PIPE_V, at);
  detail::compare(instruction, detail::whole_repeats<T>(instruction, count), mode, dst, detail::Strided<T>{src0},
                  detail::Strided<T>{src1});
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
             detail::Mask mask, int32_t repeats, const BinaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Compare", PIPE_V, at);
  detail::compare(instruction, detail::all_of(detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T))), mode,
                  dst, detail::Strided<T>{src0, p.src0BlkStride, p.src0RepStride},
                  detail::Strided<T>{src1, p.src1BlkStride, p.src1RepStride});
}
template <class T, class U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, detail::Exactly<T> scalar, CMPMODE mode,
                   uint32_t count, Place at = Place::here()) {
  Instruction instruction("CompareScalar", PIPE_V, at);
  detail::compare_scalar(instruction, detail::whole_repeats<T>(instruction, count), mode, dst, detail::Strided<T>{src0},
                         scalar);
}
template <class T, class U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, detail::Exactly<T> scalar, CMPMODE mode,
                   detail::Mask mask, int32_t repeats, const UnaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("CompareScalar", PIPE_V, at);
  detail::compare_scalar(instruction,
                         detail::all_of(detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T))), mode, dst,
                         detail::Strided<T>{src0, p.srcBlkStride, p.srcRepStride}, scalar);
}

// The forms by CMPMASK, a register of the bits of one repeat.
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, detail::Mask mask,
             const BinaryRepeatParams& p, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Compare without a destination", T, half, float);
  Instruction instruction("Compare", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, 1, sizeof(T));
  const detail::Strided<T> a{src0, p.src0BlkStride, p.src0RepStride}, b{src1, p.src1BlkStride, p.src1RepStride};
  detail::reads(instruction, lanes, a, "src0");
  detail::reads(instruction, lanes, b, "src1");
  auto& bits = opbridge_ascend::registers().compared;
  detail::for_each_bit(lanes, a, b, [&](uint32_t i, T x, T y) { detail::set_bit(bits, i, detail::holds(mode, x, y)); });
}
template <class T>
void GetCmpMask(const LocalTensor<T>& dst, Place at = Place::here()) {
  const auto& bits = opbridge_ascend::registers().compared;
  Instruction instruction("GetCmpMask", PIPE_V, at);
  instruction.writes(dst.memory(), dst.data(), sizeof bits);
  memcpy(static_cast<void*>(dst.data()), bits, sizeof bits);
}
template <class T>
void SetCmpMask(const LocalTensor<T>& src, Place at = Place::here()) {
  auto& bits = opbridge_ascend::registers().compared;
  Instruction instruction("SetCmpMask", PIPE_V, at);
  instruction.reads(src.memory(), src.data(), sizeof bits);
  memcpy(bits, static_cast<const void*>(src.data()), sizeof bits);
}
// bits = a < b
template <class T>
struct Comparison {
  LocalTensor<T> src0, src1;
  CMPMODE mode;

  template <class U>
  void into(const LocalTensor<U>& dst) const {
    Compare(dst, src0, src1, mode, src0.GetSize(), Place{nullptr, 0});
  }
};

#define OPBRIDGE_ASCEND_COMPARISON(mark, mode)                                    \
  template <class T>                                                              \
  Comparison<T> operator mark(const LocalTensor<T>& a, const LocalTensor<T>& b) { \
    return {a, b, CMPMODE::mode};                                                 \
  }
OPBRIDGE_ASCEND_COMPARISON(<, LT)
OPBRIDGE_ASCEND_COMPARISON(>, GT)
OPBRIDGE_ASCEND_COMPARISON(==, EQ)
OPBRIDGE_ASCEND_COMPARISON(<=, LE)
OPBRIDGE_ASCEND_COMPARISON(>=, GE)
OPBRIDGE_ASCEND_COMPARISON(!=, NE)
#undef OPBRIDGE_ASCEND_COMPARISON

}  // namespace AscendC
#endif
