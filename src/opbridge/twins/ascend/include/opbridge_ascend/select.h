// Select: of two sources by a bit for each element, from memory or from the register CMPMASK.
#ifndef OPBRIDGE_ASCEND_SELECT_H
#define OPBRIDGE_ASCEND_SELECT_H

#include <string.h>

#include "compare.h"

namespace AscendC {

// The place of the mask: the register of comparisons, or a tensor, with a number or a tensor as second source.
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
// The rows of the mask may be longer than those of the source, whose padding is passed over.
struct SelectWithBytesMaskShapeInfo {
  uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};

namespace detail {

// Where the bits of a repeat begin: in mode 0 all repeats use those of the first.
template <class T, class U, class Other>
void select(Instruction& instruction, const Lanes& lanes, SELMODE mode, const Strided<T>& dst,
            const LocalTensor<U>& bits, const Strided<T>& src0, Other other) {
  OPBRIDGE_ASCEND_TYPES("Select", T, half, float);
  OPBRIDGE_ASCEND_TYPES("The mask of Select", U, uint8_t, int8_t, uint16_t, uint32_t, uint64_t);
  const uint32_t per_repeat = static_cast<uint32_t>(kRepeatBytes / sizeof(T));
  const uint32_t all = bits_in(lanes);
  const bool same = mode == SELMODE::VSEL_CMPMASK_SPR;
  Unknown unknown;
  other.look(unknown, instruction, lanes);
  unknown.look(instruction, lanes, src0, "src0");
  const auto* const first = reinterpret_cast<const uint8_t*>(bits.data());
  const bool all_bits =
      instruction.looks_at(bits.memory(), first, ((same && all > per_repeat ? per_repeat : all) + 7) / 8);
  writes(instruction, lanes, dst, "dst");
  size_t place = 0;
  const auto one = [&](T* to, uint32_t r, uint32_t i, T a, T b) {
    const uint32_t at = same ? i : r * per_repeat + i;
    *to = bit(bits.data(), at) ? a : b;
    if (!all_bits && !instruction.knows(bits.memory(), first + at / 8, 1)) unknown.mark(place);
    ++place;
  };
  if (lanes.contiguous) {
    for (uint32_t i = 0; i < lanes.total; ++i) {
      one(dst.tensor.data() + i, i / per_repeat, i % per_repeat, src0.tensor.data()[i], other(i));
    }
    return unknown.spread(instruction, lanes, dst);
  }
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) one(dst.at(r, i), r, i, *src0.at(r, i), other(r, i));
    }
  }
  unknown.spread(instruction, lanes, dst);
}

// The second source, by element or by repeat and lane.
template <class T>
struct FromTensor {
  Strided<T> src;
  void look(Unknown& unknown, Instruction& instruction, const Lanes& lanes) const {
    unknown.look(instruction, lanes, src, "src1");
  }
  T operator()(uint32_t i) const { return src.tensor.data()[i]; }
  T operator()(uint32_t r, uint32_t i) const { return *src.at(r, i); }
};
// With a number instead of the second tensor.
template <class T>
struct FromScalar {
  T value;
  void look(Unknown&, Instruction& instruction, const Lanes&) const { instruction.takes(value); }
  T operator()(uint32_t) const { return value; }
  T operator()(uint32_t, uint32_t) const { return value; }
};

template <class T, class U>
void select_by_bytes(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, T scalar,
                     const LocalTensor<U>& mask, const LocalTensor<uint8_t>& buffer,
                     const SelectWithBytesMaskShapeInfo& info, bool tensor_where_zero) {
  OPBRIDGE_ASCEND_TYPES("SelectWithBytesMask", T, half, float);
  OPBRIDGE_ASCEND_TYPES("The mask of SelectWithBytesMask", U, bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
                        int32_t);
  instruction.requires_that(info.srcLastAxis * sizeof(T) % kBlockBytes == 0, "srcLastAxis", info.srcLastAxis,
                            "elements of whole blocks");
  instruction.requires_that(info.maskLastAxis % 16 == 0 && info.maskLastAxis * sizeof(U) % kBlockBytes == 0,
                            "maskLastAxis", info.maskLastAxis, "a multiple of 16, and of whole blocks");
  instruction.requires_that(info.maskLastAxis >= info.srcLastAxis, "maskLastAxis", info.maskLastAxis,
                            "at least srcLastAxis");
  scratch(instruction, buffer, buffer.GetSize());
  const auto lanes = Lanes::first(instruction, int64_t{info.firstAxis} * info.srcLastAxis);
  reads(instruction, lanes, Strided<T>{src}, "src");
  for (uint32_t r = 0; r < info.firstAxis; ++r) {
    instruction.reads(mask.memory(), mask.data() + r * info.maskLastAxis, info.srcLastAxis * sizeof(U));
  }
  writes(instruction, lanes, Strided<T>{dst}, "dst");
  for (uint32_t i = 0; i < lanes.total; ++i) {
    const bool zero = mask.data()[i / info.srcLastAxis * info.maskLastAxis + i % info.srcLastAxis] == U(0);
    dst.data()[i] = zero == tensor_where_zero ? src.data()[i] : scalar;
  }
}

}  // namespace detail

template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, uint32_t count, Place at = Place::here()) {
  Instruction instruction("Select", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  const detail::Strided<T> second{src1};
  detail::select(instruction, lanes, mode, detail::Strided<T>{dst}, bits, detail::Strided<T>{src0},
                 detail::FromTensor<T>{second});
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, detail::Exactly<T> src1,
            SELMODE mode, uint32_t count, Place at = Place::here()) {
  Instruction instruction("Select", PIPE_V, at);
  detail::select(instruction, detail::Lanes::first(instruction, count), mode, detail::Strided<T>{dst}, bits,
                 detail::Strided<T>{src0}, detail::FromScalar<T>{src1});
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE mode, detail::Mask mask, int32_t repeats, const BinaryRepeatParams& p,
            Place at = Place::here()) {
  Instruction instruction("Select", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> second{src1, p.src1BlkStride, p.src1RepStride};
  detail::select(instruction, lanes, mode, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride}, bits,
                 detail::Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, detail::FromTensor<T>{second});
}
template <class T, class U, bool isSetMask = true>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, detail::Exactly<T> src1,
            SELMODE mode, detail::Mask mask, int32_t repeats, const BinaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Select", PIPE_V, at);
  detail::select(instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)), mode,
                 detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride}, bits,
                 detail::Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, detail::FromScalar<T>{src1});
}

// With CMPMASK: the bits of one repeat apply to each repeat.
template <class T, SELMODE mode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t repeats,
            const BinaryRepeatParams& p, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Select", T, half, float);
  static_assert(mode == SELMODE::VSEL_CMPMASK_SPR,
                "opbridge's Ascend twin has no Select by an address in CMPMASK yet: pass the tensor of bits as an "
                "argument");
  Instruction instruction("Select", PIPE_V, at);
  const auto lanes = detail::repeated<false>(instruction, MASK_PLACEHOLDER, repeats, sizeof(T));
  const detail::Strided<T> to{dst, p.dstBlkStride, p.dstRepStride}, a{src0, p.src0BlkStride, p.src0RepStride},
      b{src1, p.src1BlkStride, p.src1RepStride};
  detail::reads(instruction, lanes, a, "src0");
  detail::reads(instruction, lanes, b, "src1");
  detail::writes(instruction, lanes, to, "dst");
  const auto& bits = opbridge_ascend::registers().compared;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) *to.at(r, i) = detail::bit(bits, i) ? *a.at(r, i) : *b.at(r, i);
    }
  }
}
// The other source is a scalar, which SetCmpMask has put into the register.
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, int32_t repeats,
            const BinaryRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Select", PIPE_V, at);
  T scalar;
  memcpy(&scalar, opbridge_ascend::registers().compared, sizeof scalar);
  detail::select(instruction, detail::repeated<false>(instruction, MASK_PLACEHOLDER, repeats, sizeof(T)),
                 SELMODE::VSEL_TENSOR_SCALAR_MODE, detail::Strided<T>{dst, p.dstBlkStride, p.dstRepStride}, bits,
                 detail::Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, detail::FromScalar<T>{scalar});
}

// With numbers as the mask: zero selects the first source, others the second; one of the two is a scalar.
template <class T, class U, bool isReuseMask = true>
void SelectWithBytesMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, detail::Exactly<T> src1,
                         const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
                         const SelectWithBytesMaskShapeInfo& info, Place at = Place::here()) {
  Instruction instruction("SelectWithBytesMask", PIPE_V, at);
  detail::select_by_bytes(instruction, dst, src0, src1, mask, sharedTmpBuffer, info, true);
}
template <class T, class U, bool isReuseMask = true>
void SelectWithBytesMask(const LocalTensor<T>& dst, detail::Exactly<T> src0, const LocalTensor<T>& src1,
                         const LocalTensor<U>& mask, const LocalTensor<uint8_t>& sharedTmpBuffer,
                         const SelectWithBytesMaskShapeInfo& info, Place at = Place::here()) {
  Instruction instruction("SelectWithBytesMask", PIPE_V, at);
  detail::select_by_bytes(instruction, dst, src1, src0, mask, sharedTmpBuffer, info, false);
}

}  // namespace AscendC
#endif
