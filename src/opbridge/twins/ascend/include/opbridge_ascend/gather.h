// Instructions that move elements: by offsets, by patterns, by broadcasting.
#ifndef OPBRIDGE_ASCEND_GATHER_H
#define OPBRIDGE_ASCEND_GATHER_H

#include "compare.h"
#include "reduce.h"

namespace AscendC {

struct GatherMaskParams {
  uint32_t src0BlockStride = 1, repeatTimes = 1, src0RepeatStride = 8, src1RepeatStride = 8;
};
struct BrcbRepeatParams {
  uint32_t dstBlkStride = 1, dstRepStride = 8;
};

// dst[i] = src at base + offset[i] bytes
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
            uint32_t count, Place at = Place::here()) {
  Instruction instruction("Gather", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::reads(instruction, lanes, detail::Strided<uint32_t>{offset}, "srcOffset");
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bytes = base + offset.data()[i];
    instruction.requires_that(bytes % sizeof(T) == 0, "an offset", bytes, "a multiple of the element's size, in bytes");
    const T* const from = src.data() + bytes / sizeof(T);
    instruction.reads(src.memory(), from, sizeof(T));
    dst.data()[i] = *from;
  }
}

// dst at base + offset[i] bytes = src[i]
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, uint32_t base,
             uint32_t count, Place at = Place::here()) {
  Instruction instruction("Scatter", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::reads(instruction, lanes, detail::Strided<uint32_t>{offset}, "dstOffset");
  detail::reads(instruction, lanes, detail::Strided<T>{src}, "src");
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t bytes = base + offset.data()[i];
    instruction.requires_that(bytes % sizeof(T) == 0, "an offset", bytes, "a multiple of the element's size, in bytes");
    detail::write(instruction, dst, bytes / sizeof(T), src.data()[i]);
  }
}

namespace detail {

// Packs the elements for which keeps(repeat, lane) holds.
template <class T, class Keeps>
void gather_mask(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, bool by_count,
                 uint32_t count, const GatherMaskParams& p, uint64_t& kept, Keeps keeps) {
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src0");
  const uint32_t per_repeat = by_count ? count : static_cast<uint32_t>(kRepeatBytes / sizeof(T));
  const Strided<T> from{src, p.src0BlockStride, p.src0RepeatStride};
  uint32_t n = 0;
  for (uint32_t r = 0; r < p.repeatTimes; ++r) {
    for (uint32_t i = 0; i < per_repeat; ++i) {
      instruction.reads(src.memory(), from.at(r, i), sizeof(T));
      if (keeps(r, i)) write(instruction, dst, n++, *from.at(r, i));
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
// By the bits of a tensor.
template <class T, class U>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& p, uint64_t& rsvdCnt,
                Place at = Place::here()) {
  Instruction instruction("GatherMask", PIPE_V, at);
  detail::gather_mask(instruction, dst, src0, reduceMode, mask, p, rsvdCnt, [&](uint32_t r, uint32_t i) {
    const auto* const bits = reinterpret_cast<const uint8_t*>(pattern.data()) + r * p.src1RepeatStride * kBlockBytes;
    instruction.reads(pattern.memory(), bits + i / 8, 1);
    return detail::bit(bits, i);
  });
}

// Each of 8 elements fills a block.
template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats, const BrcbRepeatParams& p,
          Place at = Place::here()) {
  Instruction instruction("Brcb", PIPE_V, at);
  instruction.requires_that(repeats >= 0 && repeats <= 255, "repeatTime", repeats,
                            "at most 255, as the hardware counts in 8 bits");
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src0");
  constexpr uint32_t kElements = 8, kPerBlock = kBlockBytes / sizeof(T);
  for (uint32_t r = 0; r < static_cast<uint32_t>(repeats); ++r) {
    const T* const from = src.data() + r * kElements;
    instruction.reads(src.memory(), from, kElements * sizeof(T));
    for (uint32_t b = 0; b < kElements; ++b) {
      T* const to = dst.data() + (r * p.dstRepStride + b * p.dstBlkStride) * kPerBlock;
      instruction.writes(dst.memory(), to, kBlockBytes);
      for (uint32_t i = 0; i < kPerBlock; ++i) to[i] = from[b];
    }
  }
}

// first, first + 1, ...
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, const detail::Exactly<T>& first, uint32_t count,
                    Place at = Place::here()) {
  Instruction instruction("CreateVecIndex", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::writes(instruction, lanes, detail::Strided<T>{dst}, "dst");
  for (uint32_t i = 0; i < count; ++i) dst.data()[i] = T(first + T(i));
}

}  // namespace AscendC
#endif
