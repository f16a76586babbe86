// Sums, maxima and minima: of a whole tensor, of each repeat, of each block of 32 bytes, of neighbours.
#ifndef OPBRIDGE_ASCEND_REDUCE_H
#define OPBRIDGE_ASCEND_REDUCE_H

#include <stdio.h>
#include <string.h>

#include <limits>
#include <type_traits>

#include "lanes.h"
#include "types.h"

namespace AscendC {

// What of an extreme value and its index is written, and which comes first.
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

namespace detail {

// A sum of two halves stays finite.
template <class T>
T saturating_sum(T a, T b) {
  const T sum = T(a + b);
  if constexpr (std::is_same<T, half>::value) {
    const half most = std::numeric_limits<half>::max();
    const float exact = float(a) + float(b);
    if (exact > float(most)) return most;
    if (exact < -float(most)) return half(-float(most));
  }
  return sum;
}

// Neighbours first, then neighbouring sums; `values` is used up.
template <class T>
T tree_sum(T* values, uint32_t n) {
  if (n == 0) return T(0);
  for (; n > 1; n = (n + 1) / 2) {
    for (uint32_t i = 0; i < n / 2; ++i) values[i] = saturating_sum(values[2 * i], values[2 * i + 1]);
    if (n % 2 != 0) values[n / 2] = values[n - 1];
  }
  return values[0];
}

// Adds in the order that the hardware is documented to add in, since halves round after each step.
template <class T>
struct Sum {
  static constexpr uint32_t kMost = kRepeatBytes / sizeof(T);

  T values[kMost];
  uint32_t n = 0;

  // A lane that takes no part counts as zero, so that the others keep their partners.
  void lane(uint32_t i, T value) {
    while (n < i) values[n++] = T(0);
    values[n++] = value;
  }
  T result() { return tree_sum(values, n); }
};

// The largest or smallest so far, and where it stands.
template <class T>
struct Extreme {
  T value = T(0);
  uint32_t index = 0;
  bool any = false;

  // Keeps the first of equal elements.
  void add(T other, uint32_t i, bool is_max) {
    if (any && !(is_max ? value < other : other < value)) return;
    value = other;
    index = i;
    any = true;
  }
};

// The index, as bits of the type of the values.
template <class T>
T index_bits(uint32_t index) {
  T result;
  if constexpr (sizeof(T) == 2) {
    const auto narrow = static_cast<uint16_t>(index);
    memcpy(&result, &narrow, sizeof result);
  } else {
    memcpy(&result, &index, sizeof result);
  }
  return result;
}

template <class T>
void write(Instruction& instruction, const LocalTensor<T>& dst, uint32_t i, T value) {
  instruction.writes(dst.memory(), dst.data() + i, sizeof(T));
  dst.data()[i] = value;
}

// What a reduction of a tensor needs to put the results of its `repeats` in, as the documents work it out.
template <class T>
uint32_t work_of_sum(uint32_t repeats) {
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  return (repeats + per_block - 1) / per_block * per_block;
}
// Values with their indices are reduced until one is left; the index needs all stages kept, the value the first.
template <class T>
uint32_t work_of_extreme(uint32_t repeats, bool with_index) {
  constexpr uint32_t per_block = kBlockBytes / sizeof(T), per_repeat = kRepeatBytes / sizeof(T);
  const auto pairs_of = [](uint32_t elements) { return (elements + per_repeat - 1) / per_repeat * 2; };
  const auto blocks_of = [](uint32_t elements) { return (elements + per_block - 1) / per_block * per_block; };
  const uint32_t first = repeats * 2;
  if (!with_index) return blocks_of(first);
  const uint32_t second = pairs_of(first);
  return blocks_of(first) + blocks_of(second) + blocks_of(pairs_of(second));
}

template <class T>
void work(Instruction& instruction, const LocalTensor<T>& tensor, uint32_t elements) {
  if (!instruction.checked()) return;
  const Local memory = tensor.memory();
  const auto room = memory.bytes - static_cast<size_t>(reinterpret_cast<uint8_t*>(tensor.data()) - memory.data);
  char needed[64];
  snprintf(needed, sizeof needed, "at least %u, for what each repeat comes to", elements);
  instruction.requires_that(memory.data == nullptr || room / sizeof(T) >= elements, "elements of sharedTmpBuffer",
                            static_cast<int64_t>(room / sizeof(T)), needed);
  scratch(instruction, tensor, elements * sizeof(T));
}

// The lanes of a source in their order.  A result is unknown where a lane was since the one before began.
template <class T>
class Reduction {
 public:
  Reduction(Instruction& instruction, const Lanes& lanes, const Strided<T>& src)
      : instruction_(instruction), src_(src) {
    unknown_.look(instruction, lanes, src, "src");
  }
  void begin() { all_known_ = true; }
  T next(uint32_t repeat, uint32_t lane) {
    all_known_ = all_known_ && !unknown_.has(place_++);
    return *src_.at(repeat, lane);
  }
  void write(const LocalTensor<T>& dst, uint32_t i, T value) {
    detail::write(instruction_, dst, i, value);
    if (!all_known_) instruction_.forget(dst.memory(), dst.data() + i, sizeof(T));
  }

 private:
  Instruction& instruction_;
  const Strided<T> src_;
  Unknown unknown_;
  size_t place_ = 0;
  bool all_known_ = true;
};

inline uint32_t repeats_of(const Lanes& lanes, uint32_t per_repeat) {
  return lanes.contiguous ? (lanes.total + per_repeat - 1) / per_repeat : lanes.repeats;
}

template <class T>
void whole_extreme(Instruction& instruction, const Lanes& lanes, bool is_max, const LocalTensor<T>& dst,
                   const Strided<T>& src, const LocalTensor<T>& buffer, bool with_index) {
  reads(instruction, lanes, src, "src");
  Extreme<T> found;
  if (lanes.contiguous) {
    for (uint32_t i = 0; i < lanes.total; ++i) found.add(src.tensor.data()[i], i, is_max);
  } else {
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
        if (lanes.has(r, i)) found.add(*src.at(r, i), r * lanes.per_repeat + i, is_max);
      }
    }
  }
  work(instruction, buffer, work_of_extreme<T>(repeats_of(lanes, kRepeatBytes / sizeof(T)), with_index));
  write(instruction, dst, 0, found.value);
  if (with_index) write(instruction, dst, 1, index_bits<T>(found.index));
}

template <class T>
void repeat_extremes(Instruction& instruction, const Lanes& lanes, bool is_max, const LocalTensor<T>& dst,
                     uint32_t step, const Strided<T>& src, ReduceOrder order) {
  Reduction<T> reduction(instruction, lanes, src);
  const bool both = order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_INDEX_VALUE;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    Extreme<T> found;
    reduction.begin();
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) found.add(reduction.next(r, i), i, is_max);
    }
    const T index = index_bits<T>(found.index);
    const uint32_t to = r * step * (both ? 2 : 1);
    const bool index_first = order == ReduceOrder::ORDER_INDEX_VALUE || order == ReduceOrder::ORDER_ONLY_INDEX;
    reduction.write(dst, to, index_first ? index : found.value);
    if (both) reduction.write(dst, to + 1, index_first ? found.value : index);
  }
}

template <class T>
void repeat_sums(Instruction& instruction, const Lanes& lanes, const LocalTensor<T>& dst, uint32_t step,
                 const Strided<T>& src) {
  Reduction<T> reduction(instruction, lanes, src);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    Sum<T> sum;
    reduction.begin();
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) sum.lane(i, reduction.next(r, i));
    }
    reduction.write(dst, r * step, sum.result());
  }
}

// f(repeat, block in it, lanes of it) for each block that has a lane.
template <class T, class F>
void for_each_block(const Lanes& lanes, F f) {
  constexpr uint32_t per_block = kBlockBytes / sizeof(T);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t b = 0; b < lanes.per_repeat / per_block; ++b) {
      bool any = false;
      for (uint32_t i = 0; i < per_block; ++i) any = any || lanes.has(r, b * per_block + i);
      if (any) f(r, b, per_block);
    }
  }
}

template <class T>
void block_extremes(Instruction& instruction, const Lanes& lanes, bool is_max, const LocalTensor<T>& dst, uint32_t step,
                    const Strided<T>& src) {
  Reduction<T> reduction(instruction, lanes, src);
  for_each_block<T>(lanes, [&](uint32_t r, uint32_t b, uint32_t n) {
    Extreme<T> found;
    reduction.begin();
    for (uint32_t i = b * n; i < (b + 1) * n; ++i) {
      if (lanes.has(r, i)) found.add(reduction.next(r, i), i, is_max);
    }
    reduction.write(dst, r * step * 8 + b, found.value);
  });
}

}  // namespace detail

// With a count: a tree in each repeat, and repeats one after the other.
template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               const int32_t count, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("ReduceSum", T, half, float);
  Instruction instruction("ReduceSum", PIPE_V, at);
  const auto lanes = detail::Lanes::first(instruction, count);
  detail::reads(instruction, lanes, detail::Strided<T>{src}, "src");
  constexpr uint32_t kMost = detail::Sum<T>::kMost;
  T total = T(0);
  for (uint32_t begin = 0; begin < lanes.total; begin += kMost) {
    const uint32_t n = lanes.total - begin < kMost ? lanes.total - begin : kMost;
    T values[kMost];
    memcpy(values, src.data() + begin, n * sizeof(T));
    total = detail::saturating_sum(total, detail::tree_sum(values, n));
  }
  detail::work(instruction, sharedTmpBuffer, detail::work_of_sum<T>(detail::repeats_of(lanes, kMost)));
  detail::write(instruction, dst, 0, total);
}
// With a mask: a tree in each repeat, and a tree over their sums.
template <class T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
               detail::Mask mask, const int32_t repeats, const int32_t srcRepStride, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("ReduceSum", T, half, float);
  Instruction instruction("ReduceSum", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> from{src, 1, static_cast<uint32_t>(srcRepStride)};
  detail::reads(instruction, lanes, from, "src");
  // As many repeats as the largest local memory holds.
  constexpr uint32_t kMost = 1024;
  const uint32_t repeated = lanes.repeats < kMost ? lanes.repeats : kMost;
  T sums[kMost];
  for (uint32_t r = 0; r < repeated; ++r) {
    detail::Sum<T> sum;
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) sum.lane(i, *from.at(r, i));
    }
    sums[r] = sum.result();
  }
  detail::work(instruction, sharedTmpBuffer, detail::work_of_sum<T>(repeated));
  detail::write(instruction, dst, 0, detail::tree_sum(sums, repeated));
}

#define OPBRIDGE_ASCEND_EXTREME(Which, is_max)                                                                         \
  template <class T, bool isSetMask = true>                                                                            \
  void Reduce##Which(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,      \
                     const int32_t count, bool with_index = false, Place at = Place::here()) {                         \
    OPBRIDGE_ASCEND_TYPES("Reduce" #Which, T, half, float);                                                            \
    Instruction instruction("Reduce" #Which, PIPE_V, at);                                                              \
    detail::whole_extreme(instruction, detail::Lanes::first(instruction, count), is_max, dst, detail::Strided<T>{src}, \
                          sharedTmpBuffer, with_index);                                                                \
  }                                                                                                                    \
  template <class T, bool isSetMask = true>                                                                            \
  void Reduce##Which(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,      \
                     detail::Mask mask, const int32_t repeats, const int32_t srcRepStride, bool with_index = false,    \
                     Place at = Place::here()) {                                                                       \
    OPBRIDGE_ASCEND_TYPES("Reduce" #Which, T, half, float);                                                            \
    Instruction instruction("Reduce" #Which, PIPE_V, at);                                                              \
    detail::whole_extreme(instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)), is_max,     \
                          dst, detail::Strided<T>{src, 1, static_cast<uint32_t>(srcRepStride)}, sharedTmpBuffer,       \
                          with_index);                                                                                 \
  }                                                                                                                    \
  template <class T, bool isSetMask = true>                                                                            \
  void WholeReduce##Which(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Mask mask,                     \
                          const int32_t repeats, const int32_t dstRepStride, const int32_t srcBlkStride,               \
                          const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,              \
                          Place at = Place::here()) {                                                                  \
    OPBRIDGE_ASCEND_TYPES("WholeReduce" #Which, T, half, float);                                                       \
    Instruction instruction("WholeReduce" #Which, PIPE_V, at);                                                         \
    detail::repeat_extremes(                                                                                           \
        instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)), is_max, dst,                  \
        static_cast<uint32_t>(dstRepStride),                                                                           \
        detail::Strided<T>{src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)}, order);     \
  }                                                                                                                    \
  template <class T, bool isSetMask = true>                                                                            \
  void BlockReduce##Which(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats,                 \
                          detail::Mask mask, const int32_t dstRepStride, const int32_t srcBlkStride,                   \
                          const int32_t srcRepStride, Place at = Place::here()) {                                      \
    OPBRIDGE_ASCEND_TYPES("BlockReduce" #Which, T, half, float);                                                       \
    Instruction instruction("BlockReduce" #Which, PIPE_V, at);                                                         \
    detail::block_extremes(                                                                                            \
        instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)), is_max, dst,                  \
        static_cast<uint32_t>(dstRepStride),                                                                           \
        detail::Strided<T>{src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)});            \
  }

OPBRIDGE_ASCEND_EXTREME(Max, true)
OPBRIDGE_ASCEND_EXTREME(Min, false)
#undef OPBRIDGE_ASCEND_EXTREME

template <class T, bool isSetMask = true>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, detail::Mask mask, const int32_t repeats,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("WholeReduceSum", T, half, float);
  Instruction instruction("WholeReduceSum", PIPE_V, at);
  detail::repeat_sums(
      instruction, detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T)), dst,
      static_cast<uint32_t>(dstRepStride),
      detail::Strided<T>{src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)});
}
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats,
                     const int32_t elements, const int32_t, const int32_t srcBlkStride, const int32_t dstRepStride,
                     const int32_t srcRepStride, Place at = Place::here()) {
  WholeReduceSum<T, isSetMask>(dst, src, elements, repeats, dstRepStride, srcBlkStride, srcRepStride, at);
}

template <class T, bool isSetMask = true>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats, detail::Mask mask,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("BlockReduceSum", T, half, float);
  Instruction instruction("BlockReduceSum", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> from{src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)};
  detail::Reduction<T> reduction(instruction, lanes, from);
  detail::for_each_block<T>(lanes, [&](uint32_t r, uint32_t b, uint32_t n) {
    detail::Sum<T> sum;
    reduction.begin();
    for (uint32_t i = 0; i < n; ++i) {
      if (lanes.has(r, b * n + i)) sum.lane(i, reduction.next(r, b * n + i));
    }
    reduction.write(dst, r * static_cast<uint32_t>(dstRepStride) * 8 + b, sum.result());
  });
}

// dst[i] = src[2i] + src[2i + 1]
template <class T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeats, detail::Mask mask,
                   const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                   Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("PairReduceSum", T, half, float);
  Instruction instruction("PairReduceSum", PIPE_V, at);
  const auto lanes = detail::repeated<isSetMask>(instruction, mask, repeats, sizeof(T));
  const detail::Strided<T> from{src, static_cast<uint32_t>(srcBlkStride), static_cast<uint32_t>(srcRepStride)};
  detail::Reduction<T> reduction(instruction, lanes, from);
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; i += 2) {
      if (!lanes.has(r, i) && !lanes.has(r, i + 1)) continue;
      reduction.begin();
      const T a = lanes.has(r, i) ? reduction.next(r, i) : T(0);
      const T b = lanes.has(r, i + 1) ? reduction.next(r, i + 1) : T(0);
      const uint32_t row = r * static_cast<uint32_t>(dstRepStride) * lanes.per_repeat / 2;
      reduction.write(dst, row + i / 2, detail::saturating_sum(a, b));
    }
  }
}

}  // namespace AscendC
#endif
