// Sorting: by value, largest first; of equal ones the one that came first.  A sorted element is a structure of 8 bytes,
// a value in its first bytes and an index of 32 bits in its last.
#ifndef OPBRIDGE_ASCEND_SORT_H
#define OPBRIDGE_ASCEND_SORT_H

#include <kernel_tiling/kernel_tiling.h>
#include <string.h>

#include <vector>

#include "functions.h"
#include "reduce.h"

namespace AscendC {

// Four sorted lists; a call uses only as many as it states.
template <class T>
struct MrgSortSrcList {
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& list1, const LocalTensor<T>& list2, const LocalTensor<T>& list3,
                 const LocalTensor<T>& list4)
      : src1(list1), src2(list2), src3(list3), src4(list4) {}

  LocalTensor<T> src1, src2, src3, src4;
};

// How long each of four lists is, and whether merging ends with the first that is used up.
struct MrgSort4Info {
  MrgSort4Info() = default;
  MrgSort4Info(const uint16_t lengths[4], bool suspends, uint16_t valid, uint16_t times)
      : elementLengths{lengths[0], lengths[1], lengths[2], lengths[3]},
        ifExhaustedSuspension(suspends),
        validBit(valid),
        repeatTimes(times) {}

  uint16_t elementLengths[4] = {0, 0, 0, 0};
  bool ifExhaustedSuspension = false;
  uint16_t validBit = 0, repeatTimes = 1;
};

enum class TopKMode : uint8_t { TOPK_NORMAL, TOPK_NSMALL };
// `outter` rows of `inner` elements, of which the first `n` count.
struct TopKInfo {
  int32_t outter = 1, inner = 0, n = 0;
};

namespace detail {

// In elements of the tensor, the size of a structure.
template <class T>
constexpr uint32_t kSorted = 8 / sizeof(T);
constexpr uint32_t kSortedAtOnce = 32;
constexpr uint32_t kMostInList = 4095;

// Equal elements keep their order.  To read <algorithm> would take longer than to read all that is here.
template <class T, class Ahead>
void sort_stably(T* elements, uint32_t count, Ahead is_ahead) {
  std::vector<T> merged(count);
  const auto up_to = [count](uint32_t end) { return end < count ? end : count; };
  for (uint32_t width = 1; width < count; width *= 2) {
    for (uint32_t begin = 0; begin < count; begin += 2 * width) {
      const uint32_t middle = up_to(begin + width), end = up_to(begin + 2 * width);
      for (uint32_t i = begin, a = begin, b = middle; i < end; ++i) {
        merged[i] = b < end && (a == middle || is_ahead(elements[b], elements[a])) ? elements[b++] : elements[a++];
      }
    }
    for (uint32_t i = 0; i < count; ++i) elements[i] = merged[i];
  }
}

// A value with its index, as sorting keeps them; where it lies in memory depends on the type.
template <class T>
struct Scored {
  T value;
  uint32_t index;

  static Scored from(const T* structure) {
    Scored one;
    memcpy(&one.value, structure, sizeof one.value);
    memcpy(&one.index, reinterpret_cast<const uint8_t*>(structure) + 4, sizeof one.index);
    return one;
  }
  // What the documents call reserved is zero.
  void into(T* structure) const {
    memset(static_cast<void*>(structure), 0, 8);
    memcpy(static_cast<void*>(structure), &value, sizeof value);
    memcpy(reinterpret_cast<uint8_t*>(structure) + 4, &index, sizeof index);
  }
};

// Returns whether a comes before b in descending order; NaN comes first.
template <class T>
bool is_larger(const Scored<T>& a, const Scored<T>& b) {
  const float x = a.value, y = b.value;
  return y < x || (x != x && y == y);
}

// Sorts groups of `each` elements into structures.
template <class T>
void sort_groups(Instruction& instruction, const LocalTensor<T>& dst, const LocalTensor<T>& values,
                 const LocalTensor<uint32_t>& indices, uint32_t groups, uint32_t each) {
  OPBRIDGE_ASCEND_TYPES("Sort", T, half, float);
  const auto lanes = Lanes::first(instruction, groups * each);
  Unknown unknown;
  unknown.look(instruction, lanes, Strided<T>{values}, "src0");
  unknown.look(instruction, lanes, Strided<uint32_t>{indices}, "src1");
  instruction.aligned(dst.start(), "dst");
  instruction.writes(dst.memory(), dst.data(), size_t{groups} * each * 8);
  std::vector<Scored<T>> group(each);
  for (uint32_t g = 0; g < groups; ++g) {
    bool all_known = true;
    for (uint32_t i = 0; i < each; ++i) all_known = all_known && !unknown.has(size_t{g} * each + i);
    for (uint32_t i = 0; i < each; ++i) group[i] = {values.data()[g * each + i], indices.data()[g * each + i]};
    sort_stably(group.data(), each, is_larger<T>);
    T* const sorted = dst.data() + g * each * kSorted<T>;
    for (uint32_t i = 0; i < each; ++i) group[i].into(sorted + i * kSorted<T>);
    // Where one stands depends on all.
    if (!all_known) instruction.forget(dst.memory(), sorted, size_t{each} * 8);
  }
}

// How many of each list the last MrgSort with a suspension took.
inline uint16_t (&merged_counts())[4] {
  static thread_local uint16_t counts[4];
  return counts;
}

// What lists to be merged are made of: how many elements of the tensor each has, and which one comes first.
template <class T>
struct SortedList {
  static constexpr uint32_t kElements = kSorted<T>;
  static bool is_ahead(const T* a, const T* b) { return is_larger(Scored<T>::from(a), Scored<T>::from(b)); }
};
// For region proposals, which are ordered by their fifth element only.
template <class T>
struct ProposalList {
  static constexpr uint32_t kElements = 8, kScore = 4;
  static bool is_ahead(const T* a, const T* b) { return is_larger(Scored<T>{a[kScore], 0}, Scored<T>{b[kScore], 0}); }
};

template <class List, class T>
void merge(Instruction& instruction, const LocalTensor<T>& dst, const MrgSortSrcList<T>& sources,
           const uint16_t lengths[4], bool suspends, uint16_t valid, int64_t times) {
  OPBRIDGE_ASCEND_TYPES("MrgSort", T, half, float);
  instruction.requires_that(valid == 3 || valid == 7 || valid == 15, "validBit", valid,
                            "0b11, 0b111 or 0b1111: two to four lists, from the first on");
  instruction.requires_that(times >= 1 && times <= static_cast<int64_t>(kMaxRepeats), "repeatTimes", times, "1 to 255");
  const LocalTensor<T>* const lists[] = {&sources.src1, &sources.src2, &sources.src3, &sources.src4};
  const uint32_t count = valid == 3 ? 2 : valid == 7 ? 3 : 4;
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; ++i) {
    instruction.requires_that(lengths[i] <= kMostInList, "the length of a list", lengths[i], "at most 4095");
    total += lengths[i];
  }
  instruction.requires_that(times == 1 || (valid == 15 && lengths[0] == lengths[1] && lengths[0] == lengths[2] &&
                                           lengths[0] == lengths[3] && !suspends),
                            "repeatTimes", times, "1, except for four lists of one length that are merged whole");
  instruction.aligned(dst.start(), "dst");
  for (uint32_t i = 0; i < count; ++i) instruction.aligned(lists[i]->start(), "a list");
  uint16_t (&taken)[4] = merged_counts();
  for (int64_t repeat = 0; repeat < times; ++repeat) {
    const uint32_t begin = static_cast<uint32_t>(repeat) * total * List::kElements;
    for (uint32_t i = 0; i < count; ++i) {
      instruction.reads(lists[i]->memory(), lists[i]->data() + begin, size_t{lengths[i]} * List::kElements * sizeof(T));
    }
    const auto head = [&](uint32_t i) { return lists[i]->data() + begin + taken[i] * List::kElements; };
    for (uint16_t& count : taken) count = 0;
    uint32_t written = 0;
    for (bool exhausted = false; written < total && !(suspends && exhausted); ++written) {
      uint32_t best = count;
      for (uint32_t i = 0; i < count; ++i) {
        if (taken[i] < lengths[i] && (best == count || List::is_ahead(head(i), head(best)))) best = i;
      }
      T* const to = dst.data() + begin + written * List::kElements;
      instruction.writes(dst.memory(), to, List::kElements * sizeof(T));
      memcpy(static_cast<void*>(to), head(best), List::kElements * sizeof(T));
      exhausted = ++taken[best] == lengths[best];
    }
  }
}

}  // namespace detail

// Sorts each 32 elements.
template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1,
            const int32_t repeatTime, Place at = Place::here()) {
  Instruction instruction("Sort32", PIPE_V, at);
  instruction.requires_that(repeatTime >= 0 && repeatTime <= static_cast<int32_t>(detail::kMaxRepeats), "repeatTime",
                            repeatTime, "at most 255, as the hardware counts in 8 bits");
  detail::sort_groups(instruction, dst, src0, src1, static_cast<uint32_t>(repeatTime), detail::kSortedAtOnce);
}

// Merges two to four sorted lists.
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
             Place at = Place::here()) {
  Instruction instruction("MrgSort", PIPE_V, at);
  detail::merge<detail::SortedList<T>>(instruction, dst, src, params.elementLengths, params.ifExhaustedSuspension,
                                       params.validBit, params.repeatTimes);
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList, const uint16_t elementCountList[4],
             uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTimes, Place at = Place::here()) {
  Instruction instruction("MrgSort", PIPE_V, at);
  detail::merge<detail::SortedList<T>>(instruction, dst, sortList, elementCountList, isExhaustedSuspension, validBit,
                                       repeatTimes);
  for (int list = 0; list < 4 && isExhaustedSuspension; ++list) sortedNum[list] = detail::merged_counts()[list];
}
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
  const auto& counts = detail::merged_counts();
  list1 = counts[0];
  list2 = counts[1];
  list3 = counts[2];
  list4 = counts[3];
}

// Region proposals: eight elements each, of which the fifth is the score, and lists of them in descending order.
namespace detail {

constexpr uint32_t kProposal = 8, kProposalsAtOnce = 16;

template <class T>
struct Proposal {
  T fields[kProposal];
};
template <class T>
bool is_ahead(const Proposal<T>& a, const Proposal<T>& b) {
  return ProposalList<T>::is_ahead(a.fields, b.fields);
}
template <class T>
Proposal<T>* proposals(const LocalTensor<T>& tensor) {
  return reinterpret_cast<Proposal<T>*>(tensor.data());
}
inline void proposal_repeats(Instruction& instruction, int32_t times) {
  instruction.requires_that(times >= 0 && times <= static_cast<int32_t>(kMaxRepeats), "repeatTimes", times, "0 to 255");
}

}  // namespace detail

// Sorts each 16 proposals.
template <class T>
void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes,
              Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("RpSort16", T, half, float);
  Instruction instruction("RpSort16", PIPE_V, at);
  detail::proposal_repeats(instruction, repeatTimes);
  const auto count = static_cast<uint32_t>(repeatTimes) * detail::kProposalsAtOnce;
  instruction.reads(src.memory(), src.data(), count * sizeof(detail::Proposal<T>));
  instruction.writes(dst.memory(), dst.data(), count * sizeof(detail::Proposal<T>));
  auto* const to = detail::proposals(dst);
  memmove(static_cast<void*>(to), src.data(), count * sizeof *to);
  for (uint32_t i = 0; i < count; i += detail::kProposalsAtOnce) {
    detail::sort_stably(to + i, detail::kProposalsAtOnce, detail::is_ahead<T>);
  }
}
// One field of 16 proposals a repeat, from a tensor without gaps, or into one.
template <class T>
void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes,
                    const int32_t modeNumber, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("ProposalConcat", T, half, float);
  Instruction instruction("ProposalConcat", PIPE_V, at);
  detail::proposal_repeats(instruction, repeatTimes);
  instruction.requires_that(modeNumber >= 0 && modeNumber <= 5, "modeNumber", modeNumber, "0 to 5");
  const auto count = static_cast<uint32_t>(repeatTimes) * detail::kProposalsAtOnce;
  instruction.reads(src.memory(), src.data(), count * sizeof(T));
  for (uint32_t i = 0; i < count; ++i) {
    detail::write(instruction, dst, i * detail::kProposal + static_cast<uint32_t>(modeNumber), src.data()[i]);
  }
}
template <class T>
void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes,
                     const int32_t modeNumber, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("ProposalExtract", T, half, float);
  Instruction instruction("ProposalExtract", PIPE_V, at);
  detail::proposal_repeats(instruction, repeatTimes);
  instruction.requires_that(modeNumber >= 0 && modeNumber <= 5, "modeNumber", modeNumber, "0 to 5");
  const auto count = static_cast<uint32_t>(repeatTimes) * detail::kProposalsAtOnce;
  instruction.writes(dst.memory(), dst.data(), count * sizeof(T));
  for (uint32_t i = 0; i < count; ++i) {
    const T* const field = src.data() + i * detail::kProposal + modeNumber;
    instruction.reads(src.memory(), field, sizeof(T));
    dst.data()[i] = *field;
  }
}
// Merges two to four lists of proposals.
template <class T>
void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
              Place at = Place::here()) {
  Instruction instruction("MrgSort4", PIPE_V, at);
  detail::merge<detail::ProposalList<T>>(instruction, dst, src, params.elementLengths, params.ifExhaustedSuspension,
                                         params.validBit, params.repeatTimes);
}

// Values alone are what Sort takes on this hardware, so nothing is to be done.
template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t) {
  concat = src;
}
// Sorts each 32 elements, or all of them.
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat, const LocalTensor<uint32_t>& index,
          LocalTensor<T>& tmp, const int32_t repeatTimes, Place at = Place::here()) {
  Instruction instruction("Sort", PIPE_V, at);
  const auto times = static_cast<uint32_t>(repeatTimes);
  const uint32_t elements = times * detail::kSortedAtOnce;
  if (isFullSort) detail::work(instruction, tmp, elements * detail::kSorted<T>);
  detail::sort_groups(instruction, dst, concat, index, isFullSort ? 1 : times,
                      isFullSort ? elements : detail::kSortedAtOnce);
}
// Values and indices apart again.
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex, const LocalTensor<T>& sorted,
             const int32_t repeatTimes, Place at = Place::here()) {
  Instruction instruction("Extract", PIPE_V, at);
  const uint32_t n = static_cast<uint32_t>(repeatTimes) * detail::kSortedAtOnce;
  const auto lanes = detail::Lanes::first(instruction, n);
  instruction.reads(sorted.memory(), sorted.data(), size_t{n} * 8);
  detail::writes(instruction, lanes, detail::Strided<T>{dstValue}, "dstValue");
  detail::writes(instruction, lanes, detail::Strided<uint32_t>{dstIndex}, "dstIndex");
  for (uint32_t i = 0; i < n; ++i) {
    const auto one = detail::Scored<T>::from(sorted.data() + i * detail::kSorted<T>);
    dstValue.data()[i] = one.value;
    dstIndex.data()[i] = one.index;
  }
}
// Returns the size of so many structures, in elements.
template <class T>
uint32_t GetSortOffset(const uint32_t elements) {
  return elements * detail::kSorted<T>;
}
template <class T>
uint32_t GetSortLen(const uint32_t elements) {
  return elements * detail::kSorted<T>;
}

// Returns the k largest or smallest elements of each row, and their indices.  Both are in rows of whole blocks.  In the
// small mode, for rows of 32, they are contiguous, and each row has separate indices.
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src,
          const LocalTensor<int32_t>& srcIndex, const LocalTensor<bool>& finished, const int32_t k, const TopkTiling&,
          const TopKInfo& info, const bool isLargest = true, Place at = Place::here()) {
  OPBRIDGE_ASCEND_TYPES("TopK", T, half, float);
  constexpr bool is_small = topkMode == TopKMode::TOPK_NSMALL;
  static_assert(!(is_small && isHasfinish), "TopK in TOPK_NSMALL mode takes no finished rows: isHasfinish is false");
  Instruction instruction("TopK", PIPE_V, at);
  instruction.requires_that(info.inner % 32 == 0, "inner", info.inner, "a multiple of 32");
  instruction.requires_that(!is_small || info.inner == 32, "inner", info.inner, "32 in TOPK_NSMALL mode");
  instruction.requires_that(info.n >= 1 && info.n <= info.inner, "n", info.n, "1 to inner");
  instruction.requires_that(k >= 1 && k <= info.n, "k", k, "1 to n");
  const auto padded = [k](size_t size) {
    return static_cast<uint32_t>(is_small ? k : (k * size + 31) / 32 * 32 / size);
  };
  const auto n = static_cast<uint32_t>(info.n);
  std::vector<detail::Scored<T>> row(n);
  for (uint32_t r = 0; r < static_cast<uint32_t>(info.outter); ++r) {
    const T* const from = src.data() + r * static_cast<uint32_t>(info.inner);
    instruction.reads(src.memory(), from, n * sizeof(T));
    const int32_t* const indices = srcIndex.data() + (is_small ? r * static_cast<uint32_t>(info.inner) : 0);
    if (isInitIndex) instruction.reads(srcIndex.memory(), indices, n * sizeof(int32_t));
    if (isHasfinish) instruction.reads(finished.memory(), finished.data() + r, 1);
    for (uint32_t i = 0; i < n; ++i) {
      row[i] = {from[i], isInitIndex ? static_cast<uint32_t>(indices[i]) : i};
    }
    detail::sort_stably(row.data(), n, [isLargest](const auto& a, const auto& b) {
      return isLargest ? is_larger(a, b) : is_larger(b, a);
    });
    for (uint32_t i = 0; i < static_cast<uint32_t>(k); ++i) {
      const bool void_row = isHasfinish && finished.data()[r];
      detail::write(instruction, dstValue, r * padded(sizeof(T)) + i, row[i].value);
      detail::write(instruction, dstIndex, r * padded(sizeof(int32_t)) + i,
                    void_row ? info.n : static_cast<int32_t>(row[i].index));
    }
  }
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src,
          const LocalTensor<int32_t>& srcIndex, const LocalTensor<bool>& finished,
          const LocalTensor<uint8_t>& sharedTmpBuffer, const int32_t k, const TopkTiling& tiling, const TopKInfo& info,
          const bool isLargest = true, Place at = Place::here()) {
  detail::temporary("TopK", sharedTmpBuffer, at);
  TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(dstValue, dstIndex, src, srcIndex, finished, k, tiling, info,
                                                          isLargest, at);
}

}  // namespace AscendC
#endif
