// DataCopy and DataCopyPad between global and local memory, and Copy within local memory.
#ifndef OPBRIDGE_ASCEND_COPY_H
#define OPBRIDGE_ASCEND_COPY_H

#include <string.h>

#include <algorithm>

#include "lanes.h"

namespace AscendC {

// Lengths and gaps in blocks of 32 bytes; of DataCopyPad, lengths and gaps in global memory in bytes.
struct DataCopyParams {
  DataCopyParams() = default;
  DataCopyParams(uint32_t count, uint32_t length, uint32_t src_gap = 0, uint32_t dst_gap = 0)
      : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap) {}

  uint32_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
};
// Copies of blockLen bytes each; the gaps count bytes in global memory, and units of 32 bytes in local memory.
struct DataCopyExtParams {
  DataCopyExtParams() = default;
  // All five, so that four in braces are DataCopyParams.
  DataCopyExtParams(uint32_t count, uint32_t length, uint32_t src_gap, uint32_t dst_gap, uint32_t reserved)
      : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap), rsv(reserved) {}

  uint32_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
};
// Elements to add to the left and right of each row.  They have the value if isPad is set, and are undefined if not.
// The rest of the last 32-byte unit is filled like them, or with the row's first element if there is no padding.
struct DataCopyPadParams {
  DataCopyPadParams() = default;
  DataCopyPadParams(bool pads, uint32_t left, uint32_t right, uint64_t value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(value) {}

  bool isPad = false;
  uint32_t leftPadding = 0, rightPadding = 0;
  uint64_t paddingValue = 0;
};
// As DataCopyPadParams, with the padding in the type of the elements instead of its bits.
template <class T>
struct DataCopyPadExtParams {
  DataCopyPadExtParams() = default;
  DataCopyPadExtParams(bool pads, uint32_t left, uint32_t right, T value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(value) {}

  bool isPad = false;
  uint32_t leftPadding = 0, rightPadding = 0;
  T paddingValue = T();
};

// What a copy computes on its way.  A block is 32 bytes, a fractal of 16 x 16 elements, or a row of one.
enum class BlockMode : uint8_t {
  BLOCK_MODE_NORMAL,
  BLOCK_MODE_MATRIX,
  BLOCK_MODE_VECTOR,
  BLOCK_MODE_SMALL_CHANNEL,
  BLOCK_MODE_DEPTHWISE,
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
// Only a copy from CO1 to CO2 takes any of it; elsewhere all is as it is here.
struct DataCopyEnhancedParams {
  DataCopyEnhancedParams() = default;
  DataCopyEnhancedParams(BlockMode mode, DeqScale scale, uint64_t value, uint8_t store_mode, bool relu)
      : blockMode(mode), deqScale(scale), deqValue(value), sidStoreMode(store_mode), isRelu(relu) {}

  BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
  DeqScale deqScale = DeqScale::DEQ_NONE;
  uint64_t deqValue = 0;
  uint8_t sidStoreMode = 0;
  bool isRelu = false;
};

// Strides count units of 32 bytes: inside a repeat, and from one repeat to the next.
struct CopyRepeatParams {
  CopyRepeatParams() = default;
  CopyRepeatParams(uint32_t dst_stride, uint32_t src_stride, uint32_t dst_repeat, uint32_t src_repeat)
      : dstStride(dst_stride), srcStride(src_stride), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}

  uint32_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
};

namespace detail {

// `count` rows of `bytes`, whose starts are that far apart on either side.
struct Rows {
  uint32_t count;
  size_t bytes, src_step, dst_step;

  static Rows of_blocks(const DataCopyParams& p, size_t unit = kBlockBytes) {
    return {p.blockCount, p.blockLen * unit, (p.blockLen + p.srcStride) * unit, (p.blockLen + p.dstStride) * unit};
  }
};

inline size_t to_blocks(size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

// The bits of NaN decide nothing: what is not less is kept.
template <class T>
void update(T* dst, const T* src, size_t n, opbridge_ascend::Atomic how) {
  for (size_t i = 0; i < n; ++i) {
    if (how == opbridge_ascend::Atomic::add) {
      dst[i] = T(dst[i] + src[i]);
    } else if (how == opbridge_ascend::Atomic::max ? dst[i] < src[i] : src[i] < dst[i]) {
      dst[i] = src[i];
    }
  }
}

template <class T>
void store(const Global& memory, T* dst, const T* src, size_t n) {
  const auto how = opbridge_ascend::registers().atomic;
  if (std::is_same<T, int4b_t>::value || how == opbridge_ascend::Atomic::none) {
    opbridge_ascend::copy_out(memory, dst, src, n * sizeof(T));
  } else {
    const opbridge_ascend::AtomicScope alone;
    if constexpr (!std::is_same<T, int4b_t>::value) update(dst, src, n, how);
  }
}

template <class T>
T* moved(T* pointer, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(pointer) + bytes);
}

inline void countable(Instruction& instruction, uint32_t rows) {
  instruction.requires_that(rows <= 4095, "blockCount", rows, "at most 4095, as the hardware counts in 12 bits");
}

template <class T>
void load_rows(Instruction& instruction, const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Rows& rows) {
  countable(instruction, rows.count);
  instruction.aligned(dst.start(), "dst");
  for (uint32_t r = 0; r < rows.count; ++r) {
    T* const to = moved(dst.data(), r * rows.dst_step);
    const T* const from = moved(src.data(), r * rows.src_step);
    const size_t there = instruction.loads(src.memory(), from, rows.bytes);
    instruction.writes(dst.memory(), to, there);
    opbridge_ascend::copy_in(to, from, there);
    instruction.loaded(dst.memory(), to, from, there);
    if (there < rows.bytes) instruction.uses_up(dst.memory(), moved(to, there), rows.bytes - there);
  }
}

template <class T>
void store_rows(Instruction& instruction, const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Rows& rows) {
  countable(instruction, rows.count);
  instruction.aligned(src.start(), "src");
  for (uint32_t r = 0; r < rows.count; ++r) {
    T* const to = moved(dst.data(), r * rows.dst_step);
    const T* const from = moved(src.data(), r * rows.src_step);
    instruction.reads(src.memory(), from, rows.bytes);
    instruction.writes(dst.memory(), to, rows.bytes);
    store(dst.memory(), to, from, rows.bytes / sizeof(T));
  }
}

// Into L1 goes what the vector unit has computed, into the bias table what lies in L1.
inline pipe_t pipe_into(TPosition position) {
  if (position == TPosition::C2) return PIPE_MTE1;
  const bool is_l1 = position == TPosition::A1 || position == TPosition::B1 || position == TPosition::C1 ||
                     position == TPosition::TSCM;
  return is_l1 ? PIPE_MTE3 : PIPE_V;
}
inline size_t copy_unit(TPosition position) { return position == TPosition::C2 ? 64 : kBlockBytes; }

template <class T>
void move_rows(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Rows& rows) {
  instruction.aligned(dst.start(), "dst");
  instruction.aligned(src.start(), "src");
  for (uint32_t r = 0; r < rows.count; ++r) {
    T* const to = moved(dst.data(), r * rows.dst_step);
    const T* const from = moved(src.data(), r * rows.src_step);
    instruction.reads(src.memory(), from, rows.bytes);
    instruction.writes(dst.memory(), to, rows.bytes);
    memmove(to, from, rows.bytes);
  }
}

template <class T>
Rows one_row(Instruction& instruction, uint32_t count) {
  const size_t bytes = count * sizeof(T) / kInByte<T>;
  instruction.requires_that(bytes % kBlockBytes == 0, "bytes to copy", static_cast<int64_t>(bytes),
                            "a multiple of 32; DataCopyPad copies any number");
  return {1, bytes, 0, 0};
}
// The documented condition is on count * sizeof(T), where sizeof(int4b_t) is 1.  Half of such a count may end inside of
// a block, and a load reads the whole block.
template <class T>
Rows one_loaded_row(Instruction& instruction, uint32_t count) {
  if (kInByte<T> == 1 || count % kBlockBytes != 0) return one_row<T>(instruction, count);
  return {1, to_blocks(count / kInByte<T>), 0, 0};
}

template <class T>
void load_padded(Instruction& instruction, const LocalTensor<T>& dst, const GlobalTensor<T>& src,
                 const DataCopyExtParams& p, uint32_t left, uint32_t right, bool is_pad, T value) {
  countable(instruction, p.blockCount);
  instruction.aligned(dst.start(), "dst");
  instruction.requires_that(left * sizeof(T) <= kBlockBytes, "leftPadding", left, "at most 32 bytes of elements");
  instruction.requires_that(right * sizeof(T) <= kBlockBytes, "rightPadding", right, "at most 32 bytes of elements");
  const size_t before = left * sizeof(T), row = to_blocks(before + p.blockLen + right * sizeof(T));
  const size_t behind = (row - before - p.blockLen) / sizeof(T);
  // Without any padding, a last block that is not full is filled with the first element, whatever isPad says.
  const bool repeats_first = left == 0 && right == 0;
  for (uint32_t r = 0; r < p.blockCount; ++r) {
    T* const to = moved(dst.data(), r * (row + p.dstStride * kBlockBytes));
    const T* const from = moved(src.data(), r * (size_t{p.blockLen} + p.srcStride));
    T* const end = moved(to, row);
    instruction.reads(src.memory(), from, p.blockLen);
    instruction.writes(dst.memory(), to, row);
    memcpy(moved(to, before), from, p.blockLen);
    if (repeats_first && p.blockLen >= sizeof(T)) value = *to;
    std::fill_n(to, left, value);
    std::fill_n(end - behind, behind, value);
    if (repeats_first || is_pad) continue;
    instruction.uses_up(dst.memory(), to, before);
    instruction.uses_up(dst.memory(), end - behind, behind * sizeof(T));
  }
}

}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE2, at);
  detail::load_rows(instruction, dst, src, detail::one_loaded_row<T>(instruction, count));
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE2, at);
  detail::load_rows(instruction, dst, src, detail::Rows::of_blocks(params));
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE3, at);
  detail::store_rows(instruction, dst, src, detail::one_row<T>(instruction, count));
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              Place at = Place::here()) {
  Instruction instruction("DataCopy", PIPE_MTE3, at);
  detail::store_rows(instruction, dst, src, detail::Rows::of_blocks(params));
}
// Between local memories.
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              Place at = Place::here()) {
  const TPosition position = opbridge_ascend::position_of(dst.memory());
  Instruction instruction("DataCopy", detail::pipe_into(position), at);
  detail::move_rows(instruction, dst, src, detail::Rows::of_blocks(params, detail::copy_unit(position)));
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Place at = Place::here()) {
  Instruction instruction("DataCopy", detail::pipe_into(opbridge_ascend::position_of(dst.memory())), at);
  detail::move_rows(instruction, dst, src, detail::one_row<T>(instruction, count));
}

namespace detail {

// Between these memories a copy is nothing but a copy.
inline const DataCopyParams& plain(const DataCopyParams& params, const DataCopyEnhancedParams& more, Place at) {
  Instruction("DataCopy", PIPE_S, at)
      .requires_that(
          more.blockMode == BlockMode::BLOCK_MODE_NORMAL && more.deqScale == DeqScale::DEQ_NONE && !more.isRelu,
          "enhancedParams", static_cast<int>(more.blockMode),
          "BLOCK_MODE_NORMAL with nothing computed, as from CO1 to CO2 alone anything is");
  return params;
}

}  // namespace detail

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& more, Place at = Place::here()) {
  DataCopy(dst, src, detail::plain(params, more, at), at);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& more, Place at = Place::here()) {
  DataCopy(dst, src, detail::plain(params, more, at), at);
}
// From the matrix unit's results to the unified buffer, on chips whose matrix and vector units share a core.
template <class T, class U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& more, Place at = Place::here()) {
  if constexpr (std::is_same<T, U>::value) {
    if (opbridge_ascend::position_of(src.memory()) != TPosition::CO1) {
      return DataCopy(dst, src, detail::plain(params, more, at), at);
    }
  }
  Instruction instruction("DataCopy", PIPE_V, at);
  instruction.placed(src.memory(), "src", TPosition::CO1);
  instruction.placed(dst.memory(), "dst", TPosition::CO2);
  const bool is_row = more.blockMode == BlockMode::BLOCK_MODE_VECTOR;
  instruction.requires_that(is_row || more.blockMode == BlockMode::BLOCK_MODE_MATRIX, "blockMode",
                            static_cast<int>(more.blockMode), "BLOCK_MODE_MATRIX or BLOCK_MODE_VECTOR from CO1 to CO2");
  instruction.requires_that(more.deqScale == DeqScale::DEQ_NONE, "deqScale", static_cast<int>(more.deqScale),
                            "DEQ_NONE: the twin's copies do not quantise; Cast and Muls do");
  const size_t unit = is_row ? 16 : 256, length = params.blockLen * unit;
  for (uint32_t r = 0; r < params.blockCount; ++r) {
    T* const to = dst.data() + r * (params.blockLen + params.dstStride) * unit;
    const U* const from = src.data() + r * (params.blockLen + params.srcStride) * unit;
    instruction.reads(src.memory(), from, length * sizeof(U));
    instruction.writes(dst.memory(), to, length * sizeof(T));
    for (size_t i = 0; i < length; ++i) to[i] = static_cast<T>(more.isRelu && from[i] < U(0) ? U(0) : from[i]);
  }
}

template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                 const DataCopyPadExtParams<detail::Exactly<T>>& pad, Place at = Place::here()) {
  Instruction instruction("DataCopyPad", PIPE_MTE2, at);
  detail::load_padded(instruction, dst, src, params, pad.leftPadding, pad.rightPadding, pad.isPad, pad.paddingValue);
}
template <class T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                 const DataCopyPadParams& pad, Place at = Place::here()) {
  Instruction instruction("DataCopyPad", PIPE_MTE2, at);
  T value;
  memcpy(&value, &pad.paddingValue, sizeof value);
  const DataCopyExtParams params{p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0};
  detail::load_padded(instruction, dst, src, params, pad.leftPadding, pad.rightPadding, pad.isPad, value);
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p,
                 Place at = Place::here()) {
  Instruction instruction("DataCopyPad", PIPE_MTE3, at);
  const size_t row = detail::to_blocks(p.blockLen);
  detail::store_rows(
      instruction, dst, src,
      {p.blockCount, p.blockLen, row + p.srcStride * detail::kBlockBytes, size_t{p.blockLen} + p.dstStride});
}
template <class T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
                 Place at = Place::here()) {
  DataCopyPad(dst, src, DataCopyExtParams{p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0}, at);
}

template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Mask mask, int32_t repeats,
          const CopyRepeatParams& p, Place at = Place::here()) {
  Instruction instruction("Copy", PIPE_V, at);
  if (isSetMask && mask.is_zero()) return;  // nothing takes part
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> to{dst, p.dstStride, p.dstRepeatSize}, from{src, p.srcStride, p.srcRepeatSize};
  detail::Unknown unknown;
  unknown.look(instruction, lanes, from, "src");
  detail::writes(instruction, lanes, to, "dst");
  detail::compute(lanes, [](T x) { return x; }, to, from);
  unknown.spread(instruction, lanes, to);
}

}  // namespace AscendC
#endif
