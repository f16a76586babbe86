// Instructions that move elements: by offsets, by patterns, by broadcasting.
#ifndef OPBRIDGE_ASCEND_GATHER_H
#define OPBRIDGE_ASCEND_GATHER_H

#include <string.h>

#include "compare.h"
#include "reduce.h"

namespace AscendC {

// Strides count units of 32 bytes; those of src1 are of the mask.
struct GatherMaskParams {
  GatherMaskParams() = default;
  GatherMaskParams(uint32_t src0_block, uint32_t repeats, uint32_t src0_repeat, uint32_t src1_repeat)
      : src0BlockStride(src0_block),
        repeatTimes(repeats),
        src0RepeatStride(src0_repeat),
        src1RepeatStride(src1_repeat) {}

  uint32_t src0BlockStride = 1, repeatTimes = 1, src0RepeatStride = 8, src1RepeatStride = 8;
};
// Strides of what is written; what is read is always eight elements a repeat.
struct BrcbRepeatParams {
  BrcbRepeatParams() = default;
  BrcbRepeatParams(uint32_t dst_block, uint32_t dst_repeat) : dstBlkStride(dst_block), dstRepStride(dst_repeat) {}

  uint32_t dstBlkStride = 1, dstRepStride = 8;
};

struct GatherRepeatParams {
  uint32_t dstBlkStride = 1, dstRepStride = 8;
};

namespace detail {

template <class T>
uint32_t element_at(Instruction& instruction, uint32_t bytes) {
  instruction.requires_that(bytes % sizeof(T) == 0, "an offset", bytes, "a multiple of the element's size, in bytes");
  return bytes / static_cast<uint32_t>(sizeof(T));
}

// Calls f(lane of the strided operand, offset in elements) for each active lane; the offsets are contiguous.
template <class T, class F>
void by_offsets(Instruction& instruction, const Lanes& lanes, const Strided<T>& strided,
                const LocalTensor<uint32_t>& offsets, uint32_t base, F f) {
  const auto one = [&](T* lane, uint32_t i) { f(lane, element_at<T>(instruction, base + offsets.data()[i])); };
  if (lanes.contiguous) {
    reads(instruction, lanes, Strided<uint32_t>{offsets}, "offset");
    for (uint32_t i = 0; i < lanes.total; ++i) one(strided.tensor.data() + i, i);
    return;
  }
  instruction.aligned(offsets.start(), "offset");
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (!lanes.has(r, i)) continue;
      const uint32_t at = r * lanes.per_repeat + i;
      instruction.reads(offsets.memory(), offsets.data() + at, sizeof(uint32_t));
      one(strided.at(r, i), at);
    }
  }
}

template <class T>
void gather(Instruction& instruction, const Lanes& lanes, const Strided<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& offsets, uint32_t base) {
  OPBRIDGE_ASCEND_TYPES("Gather", T, int16_t, uint16_t, int32_t, uint32_t, float, half, bfloat16_t);
  writes(instruction, lanes, dst, "dst");
  by_offsets(instruction, lanes, dst, offsets, base, [&](T* to, uint32_t element) {
    const T* const from = src.data() + element;
    const bool is_known = instruction.looks_at(src.memory(), from, sizeof(T));
    *to = *from;
    if (!is_known) instruction.forget(dst.tensor.memory(), to, sizeof(T));
  });
}

template <class T>
void scatter(Instruction& instruction, const Lanes& lanes, const LocalTensor<T>& dst, const Strided<T>& src,
             const LocalTensor<uint32_t>& offsets, uint32_t base) {
  reads(instruction, lanes, src, "src");
  by_offsets(instruction, lanes, src, offsets, base,
             [&](T* from, uint32_t element) { write(instruction, dst, element, *from); });
}

}  // namespace detail

// dst[i] = src at base + offset[i] bytes
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
            uint32_t count, Place at = Place::here()) {
  Instruction instruction("Gather", PIPE_V, at);
  detail::gather(instruction, detail::Lanes::first(instruction, count), detail::Strided<T>{dst}, src, offset, base);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
            detail::Mask mask, int32_t repeats, uint16_t dstRepStride, Place at = Place::here()) {
  Instruction instruction("Gather", PIPE_V, at);
  detail::gather(instruction, detail::repeated<true>(instruction, mask, repeats, sizeof(T)),
                 detail::Strided<T>{dst, 1, dstRepStride}, src, offset, base);
}
// Blocks of 32 bytes, each from an address of its own.
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& offset,
             const uint8_t repeatTime, const GatherRepeatParams& p, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Gatherb", T, int16_t, uint16_t, int32_t, uint32_t, half, float);
  Instruction instruction("Gatherb", PIPE_V, at);
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src0.start(), "src0");
  instruction.aligned(offset.start(), "offset");
  constexpr uint32_t kBlocks = detail::kRepeatBytes / detail::kBlockBytes, kPerBlock = detail::kBlockBytes / sizeof(T);
  for (uint32_t i = 0; i < repeatTime * kBlocks; ++i) {
    instruction.reads(offset.memory(), offset.data() + i, sizeof(uint32_t));
    const uint32_t bytes = offset.data()[i];
    instruction.requires_that(bytes % detail::kBlockBytes == 0, "an offset", bytes, "a multiple of 32, in bytes");
    const T* const from = src0.data() + bytes / sizeof(T);
    T* const to = dst.data() + (i / kBlocks * p.dstRepStride + i % kBlocks * p.dstBlkStride) * kPerBlock;
    instruction.reads(src0.memory(), from, detail::kBlockBytes);
    instruction.writes(dst.memory(), to, detail::kBlockBytes);
    memmove(static_cast<void*>(to), from, detail::kBlockBytes);
  }
}

// dst at base + offset[i] bytes = src[i]
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
             uint32_t count, Place at = Place::here()) {
  Instruction instruction("Scatter", PIPE_V, at);
  detail::scatter(instruction, detail::Lanes::first(instruction, count), dst, detail::Strided<T>{src}, offset, base);
}
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
             detail::Mask mask, int32_t repeats, uint8_t srcRepStride, Place at = Place::here()) {
  Instruction instruction("Scatter", PIPE_V, at);
  detail::scatter(instruction, detail::repeated<true>(instruction, mask, repeats, sizeof(T)), dst,
                  detail::Strided<T>{src, 1, srcRepStride}, offset, base);
}

namespace detail {

// Packs the elements for which keeps(repeat, lane) holds.
template <class T, class Keeps>
void gather_mask(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, bool by_count,
                 uint32_t count, const GatherMaskParams& p, uint64_t& kept, Keeps keeps) {
  OPBRIDGE_ASCEND_TYPES("GatherMask", T, half, bfloat16_t, uint16_t, int16_t, float, uint32_t, int32_t);
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src0");
  const uint32_t per_repeat = by_count ? count : static_cast<uint32_t>(kRepeatBytes / sizeof(T));
  const Strided<T> from{src, p.src0BlockStride, p.src0RepeatStride};
  uint32_t n = 0;
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    for (uint32_t i = 0; i < per_repeat; ++i) {
      const bool is_known = instruction.looks_at(src.memory(), from.at(r, i), sizeof(T));
      if (!keeps(r, i)) continue;
      write(instruction, dst, n, *from.at(r, i));
      if (!is_known) instruction.forget(dst.memory(), dst.data() + n, sizeof(T));
      ++n;
    }
  }
  kept = n;
}

}  // namespace detail

// Patterns: of each two elements the first (1) or second (2); of each four one (3 to 6); all (7).
template <class T>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t pattern, const bool reduceMode,
                const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt, Place at = Place::here()) {
  Instruction instruction("GatherMask", PIPE_V, at);
  instruction.requires_that(pattern >= 1 && pattern <= 7, "src1Pattern", pattern, "1 to 7");
  detail::gather_mask(instruction, dst, src0, reduceMode, mask, p, rsvdCnt, [pattern](uint32_t, uint32_t i) {
    return pattern == 7 || (pattern <= 2 ? i % 2 == pattern - 1u : i % 4 == pattern - 3u);
  });
}
// Gathers by the bits of a tensor.
template <class T, class U>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt,
                Place at = Place::here()) {
  static_assert(
      sizeof(U) == sizeof(T) && std::is_unsigned<U>::value,
      "the pattern of GatherMask is a tensor of uint16_t for elements of 2 bytes, and of uint32_t for those of 4");
  Instruction instruction("GatherMask", PIPE_V, at);
  detail::gather_mask(instruction, dst, src0, reduceMode, mask, p, rsvdCnt, [&](uint32_t r, uint32_t i) {
    const auto* const bits =
        reinterpret_cast<const uint8_t*>(pattern.data()) + r * p.src1RepeatStride * detail::kBlockBytes;
    instruction.reads(pattern.memory(), bits + i / 8, 1);
    return detail::bit(bits, i);
  });
}

// Each of 8 elements fills a block.
template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats, const BrcbRepeatParams& p,
          Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("Brcb", T, int16_t, uint16_t, int32_t, uint32_t, half, bfloat16_t, float);
  Instruction instruction("Brcb", PIPE_V, at);
  instruction.requires_that(repeats >= 0 && repeats <= 255, "repeatTime", repeats,
                            "at most 255, as the hardware counts in 8 bits");
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src0");
  constexpr uint32_t kElements = 8, kPerBlock = detail::kBlockBytes / sizeof(T);
  for (uint32_t r = 0; r < static_cast<uint32_t>(repeats); ++r) {
    const T* const from = src.data() + r * kElements;
    for (uint32_t b = 0; b < kElements; ++b) {
      const bool is_known = instruction.looks_at(src.memory(), from + b, sizeof(T));
      T* const to = dst.data() + (r * p.dstRepStride + b * p.dstBlkStride) * kPerBlock;
      instruction.writes(dst.memory(), to, detail::kBlockBytes);
      for (uint32_t i = 0; i < kPerBlock; ++i) to[i] = from[b];
      if (!is_known) instruction.forget(dst.memory(), to, detail::kBlockBytes);
    }
  }
}

// first, first + 1, ...
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, const detail::Exactly<T>& first, uint32_t count,
                    Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("CreateVecIndex", T, int16_t, half, int32_t, float);
  Instruction instruction("CreateVecIndex", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  for (uint32_t i = 0; i < count; ++i) dst.data()[i] = T(first + T(i));
}
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, const detail::Exactly<T>& first, detail::Mask mask, int32_t repeats,
                    uint16_t dstBlkStride, uint8_t dstRepStride, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("CreateVecIndex", T, int16_t, half, int32_t, float);
  Instruction instruction("CreateVecIndex", PIPE_V, at);
  const auto lanes = detail::repeated<true>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> to{dst, dstBlkStride, dstRepStride};
  detail::writes(instruction, lanes, to, "dst");
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) *to.at(r, i) = T(first + T(r * lanes.per_repeat + i));
    }
  }
}
// first, first + diff, first + 2 diff, ...
template <class T>
void ArithProgression(const LocalTensor<T>& dst, const detail::Exactly<T> first, const detail::Exactly<T> diff,
                      const int32_t count, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("ArithProgression", T, half, float, int16_t, int32_t);
  Instruction instruction("ArithProgression", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  for (int32_t i = 0; i < count; ++i) dst.data()[i] = T(first + T(T(i) * diff));
}

}  // namespace AscendC
#endif
