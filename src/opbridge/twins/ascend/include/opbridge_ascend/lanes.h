// How a vector instruction goes over its operands: the first `count` elements, or repeats of 256 bytes under a mask,
// each operand with strides of its own.
#ifndef OPBRIDGE_ASCEND_LANES_H
#define OPBRIDGE_ASCEND_LANES_H

#include <type_traits>
#include <vector>

#include "constants.h"
#include "elements.h"
#include "tensor.h"

namespace AscendC {

namespace detail {
// Not in the namespace of the documented names, where they could collide with constants of a kernel.
using opbridge_ascend::kBlockBytes;
using opbridge_ascend::kMaxRepeats;
using opbridge_ascend::kRepeatBytes;
}  // namespace detail

// Strides count units of 32 bytes: between the eight of a repeat, and from one repeat to the next.
struct UnaryRepeatParams {
  UnaryRepeatParams() = default;
  UnaryRepeatParams(uint32_t dst_block, uint32_t src_block, uint32_t dst_repeat, uint32_t src_repeat)
      : dstBlkStride(dst_block), srcBlkStride(src_block), dstRepStride(dst_repeat), srcRepStride(src_repeat) {}

  uint32_t dstBlkStride = DEFAULT_BLK_STRIDE, srcBlkStride = DEFAULT_BLK_STRIDE;
  uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE, srcRepStride = DEFAULT_REPEAT_STRIDE;
};

// The same for an instruction with two sources.
struct BinaryRepeatParams {
  BinaryRepeatParams() = default;
  BinaryRepeatParams(uint32_t dst_block, uint32_t src0_block, uint32_t src1_block, uint32_t dst_repeat,
                     uint32_t src0_repeat, uint32_t src1_repeat)
      : dstBlkStride(dst_block),
        src0BlkStride(src0_block),
        src1BlkStride(src1_block),
        dstRepStride(dst_repeat),
        src0RepStride(src0_repeat),
        src1RepStride(src1_repeat) {}

  uint32_t dstBlkStride = DEFAULT_BLK_STRIDE, src0BlkStride = DEFAULT_BLK_STRIDE, src1BlkStride = DEFAULT_BLK_STRIDE;
  uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE, src0RepStride = DEFAULT_REPEAT_STRIDE;
  uint32_t src1RepStride = DEFAULT_REPEAT_STRIDE;
};

// Whether a mask names lanes of each repeat, or counts elements over all repeats.
enum class MaskMode : uint8_t { NORMAL, COUNTER };

constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

inline void SetMaskCount() { opbridge_ascend::registers().counter_mode = true; }
inline void SetMaskNorm() { opbridge_ascend::registers().counter_mode = false; }

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t high, uint64_t low, Place at = Place::here()) {
  auto& registers = opbridge_ascend::registers();
  registers.mask[0] = low;
  registers.mask[1] = high;
  registers.mask_set = at;
}

namespace detail {

// The first `count` bits.
template <size_t n>
void set_first(uint64_t (&mask)[n], uint64_t count) {
  for (uint64_t& word : mask) {
    word = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    count -= count >= 64 ? 64 : count;
  }
}

// A member type, from which C++ deduces nothing.
template <class T>
struct Same {
  using type = T;
};
// A parameter that takes no part in deduction.
template <class T>
using Exactly = typename Same<T>::type;

template <class... T>
constexpr uint32_t widest() {
  size_t most = 1;
  ((most = sizeof(T) > most ? sizeof(T) : most), ...);
  return static_cast<uint32_t>(most);
}

}  // namespace detail

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t count, Place at = Place::here()) {
  auto& registers = opbridge_ascend::registers();
  registers.mask_set = at;
  if constexpr (mode == MaskMode::COUNTER) {
    registers.mask[0] = static_cast<uint64_t>(count);
    registers.mask[1] = 0;
  } else {
    detail::set_first(registers.mask, static_cast<uint64_t>(count));
  }
}
inline void ResetMask(Place at = Place::here()) { SetVectorMask<uint8_t>(~uint64_t{0}, ~uint64_t{0}, at); }

namespace detail {

// Which elements one instruction touches, whatever form its parameters came in.
struct Lanes {
  uint64_t mask[4] = {0, 0, 0, 0};
  uint32_t repeats = 0;
  uint32_t per_repeat = 0;
  uint32_t total = ~uint32_t{0};  // of all repeats, where the counter and no mask says which elements take part
  bool contiguous = false;

  bool has(uint32_t repeat, uint32_t i) const {
    return repeat * per_repeat + i < total && (mask[i / 64] >> (i % 64) & 1) != 0;
  }
  // The length of the mask where it is one run from the first lane on; else zero.
  uint32_t prefix() const {
    if (total != ~uint32_t{0}) return 0;
    uint32_t n = 0;
    while (n < per_repeat && has(0, n)) ++n;
    for (uint32_t i = n; i < per_repeat; ++i) {
      if (has(0, i)) return 0;
    }
    return n;
  }

  uint32_t of_first_repeat() const {
    uint32_t n = 0;
    for (uint32_t i = 0; i < per_repeat; ++i) n += has(0, i);
    return n;
  }

  static Lanes first(Instruction& instruction, int64_t count) {
    instruction.requires_that(count >= 0, "count", count, "a number of elements");
    Lanes lanes;
    lanes.contiguous = true;
    lanes.total = static_cast<uint32_t>(count);
    return lanes;
  }
};

// The two ways to write a mask.
struct Mask {
  // A template, so that a literal 0 is a number and no pointer.
  template <class Number, class = std::enable_if_t<std::is_integral<Number>::value>>
  Mask(Number count) : is_list(false), bits{static_cast<uint64_t>(count), 0} {}
  Mask(const uint64_t* list) : is_list(true), bits{list[0], list[1]} {}

  bool is_zero() const { return bits[0] == 0 && bits[1] == 0; }

  bool is_list;
  uint64_t bits[2];
};

// `bytes` is the size of the widest operand's elements: a repeat has as many elements as 256 bytes hold of those.
template <bool is_set_mask>
Lanes repeated(Instruction& instruction, const Mask& mask, int64_t repeats, uint32_t bytes) {
  Lanes lanes;
  lanes.per_repeat = static_cast<uint32_t>(kRepeatBytes) / bytes;
  lanes.repeats = static_cast<uint32_t>(repeats);
  const auto& registers = opbridge_ascend::registers();
  const uint64_t count = is_set_mask ? mask.bits[0] : registers.mask[0];
  if (registers.counter_mode) {
    lanes.total = static_cast<uint32_t>(count);
    lanes.repeats = (lanes.total + lanes.per_repeat - 1) / lanes.per_repeat;
    set_first(lanes.mask, lanes.per_repeat);
    return lanes;
  }
  instruction.requires_that(repeats >= 0 && repeats <= static_cast<int64_t>(kMaxRepeats), "repeatTime", repeats,
                            "at most 255, as the hardware counts in 8 bits");
  if (!is_set_mask || mask.is_list) {
    instruction.requires_that(bytes > 1, "mask", static_cast<int64_t>(count),
                              "a number of elements: a list of bits is for elements of 2 bytes and more");
    const uint64_t* const bits = is_set_mask ? mask.bits : registers.mask;
    lanes.mask[0] = bits[0];
    lanes.mask[1] = bits[1];
    if (!is_set_mask) instruction.masked(lanes.of_first_repeat(), lanes.per_repeat);
  } else {
    instruction.requires_that(count >= 1 && count <= lanes.per_repeat, "mask", static_cast<int64_t>(count),
                              "between 1 and the elements of a repeat, which is 256 bytes");
    set_first(lanes.mask, count);
  }
  return lanes;
}

// A tensor in the order in which an instruction with repeats accesses it.  The caller has checked the accesses.
template <class T>
struct Strided {
  static constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);

  const LocalTensor<T>& tensor;
  uint32_t block_stride = 1;
  uint32_t repeat_stride = 8;

  T* at(uint32_t repeat, uint32_t i) const {
    return tensor.data() + (repeat * repeat_stride + i / kPerBlock * block_stride) * kPerBlock + i % kPerBlock;
  }
};

// Tells an instruction the memory of an operand, in as few stretches as there are.
template <class T, class Tell>
void stretches(const Lanes& lanes, const Strided<T>& operand, Tell tell) {
  if (lanes.contiguous) return tell(operand.tensor.data(), lanes.total * sizeof(T));
  const T* begin = nullptr;
  const T* end = nullptr;
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (!lanes.has(r, i)) continue;
      const T* const next = operand.at(r, i);
      if (next != end) {
        if (begin != end) tell(begin, static_cast<size_t>(end - begin) * sizeof(T));
        begin = next;
      }
      end = next + 1;
    }
  }
  if (begin != end) tell(begin, static_cast<size_t>(end - begin) * sizeof(T));
}

template <class T>
void reads(Instruction& instruction, const Lanes& lanes, const Strided<T>& operand, const char* name) {
  if (!instruction.checked()) return;
  instruction.aligned(operand.tensor.start(), name);
  stretches(lanes, operand, [&](const T* at, size_t n) { instruction.reads(operand.tensor.memory(), at, n); });
}
template <class T>
void writes(Instruction& instruction, const Lanes& lanes, const Strided<T>& operand, const char* name) {
  if (!instruction.checked()) return;
  instruction.aligned(operand.tensor.start(), name);
  stretches(lanes, operand, [&](const T* at, size_t n) { instruction.writes(operand.tensor.memory(), at, n); });
}

// dst = f(src...) for every element that takes part, after the accesses have been told.
template <class F, class D, class... S>
void compute(const Lanes& lanes, F f, const Strided<D>& dst, const Strided<S>&... src) {
  if (lanes.contiguous) return elements(f, lanes.total, dst.tensor.data(), static_cast<const S*>(src.tensor.data())...);
  const bool dense = dst.block_stride == 1 && (true && ... && (src.block_stride == 1));
  if (const uint32_t n = dense ? lanes.prefix() : 0) {
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      elements(f, n, dst.at(r, 0), static_cast<const S*>(src.at(r, 0))...);
    }
    return;
  }
  for (uint32_t r = 0; r < lanes.repeats; ++r) {
    for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
      if (lanes.has(r, i)) *dst.at(r, i) = static_cast<D>(f(*src.at(r, i)...));
    }
  }
}

// A buffer that an instruction needs for itself.
template <class T>
void scratch(Instruction& instruction, const LocalTensor<T>& tensor, size_t bytes) {
  instruction.aligned(tensor.start(), "sharedTmpBuffer");
  instruction.uses_up(tensor.memory(), tensor.data(), bytes);
}

// Checks that the 8 bits of the hardware can count the blocks between two repeats.
template <class T>
void counted_in_8_bits(Instruction& instruction, const Strided<T>& operand, const char* stride) {
  instruction.requires_that(operand.repeat_stride <= 255, stride, operand.repeat_stride,
                            "at most 255 blocks of 32 bytes");
}

// Which elements of a result are known: those that were computed from known ones.  Tails of whole blocks are computed
// with the rest and are nobody's business until something is made of them.
class Unknown {
 public:
  // For bits, each byte of an element is known or unknown by itself.
  explicit Unknown(bool by_byte = false) : by_byte_(by_byte) {}

  template <class T>
  void look(Instruction& instruction, const Lanes& lanes, const Strided<T>& operand, const char* name) {
    if (!instruction.checked()) return;
    instruction.aligned(operand.tensor.start(), name);
    bool all_known = true;
    stretches(lanes, operand, [&](const T* at, size_t n) {
      all_known = instruction.looks_at(operand.tensor.memory(), at, n) && all_known;
    });
    if (all_known) return;
    instruction.suspects(operand.tensor.memory());
    size_t place = 0;
    each_part(lanes, operand, [&](const uint8_t* at, size_t size) {
      if (!instruction.knows(operand.tensor.memory(), at, size)) mark(place);
      ++place;
    });
  }
  void mark(size_t place) {
    if (elements_.size() <= place) elements_.resize(place + 1);
    elements_[place] = true;
  }
  bool has(size_t place) const { return place < elements_.size() && elements_[place]; }
  bool any() const { return !elements_.empty(); }
  // Call this after the writes of the instruction.
  template <class T>
  void spread(Instruction& instruction, const Lanes& lanes, const Strided<T>& dst) const {
    if (elements_.empty()) return;
    instruction.blames(dst.tensor.memory());
    size_t place = 0;
    each_part(lanes, dst, [&](const uint8_t* at, size_t size) {
      if (has(place++)) instruction.forget(dst.tensor.memory(), at, size);
    });
  }

 private:
  // Elements, or their bytes.
  template <class T, class Visit>
  void each_part(const Lanes& lanes, const Strided<T>& operand, Visit visit) const {
    const size_t size = by_byte_ ? 1 : sizeof(T);
    each(lanes, operand, [&](const T* at) {
      for (size_t i = 0; i < sizeof(T); i += size) visit(reinterpret_cast<const uint8_t*>(at) + i, size);
    });
  }
  template <class T, class Visit>
  static void each(const Lanes& lanes, const Strided<T>& operand, Visit visit) {
    if (lanes.contiguous) {
      for (uint32_t i = 0; i < lanes.total; ++i) visit(operand.tensor.data() + i);
      return;
    }
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
      for (uint32_t i = 0; i < lanes.per_repeat; ++i) {
        if (lanes.has(r, i)) visit(operand.at(r, i));
      }
    }
  }

  bool by_byte_;
  std::vector<bool> elements_;  // by lane, or by byte of it; empty where all are known
};

// Elements in another order: dst[i] = src[from(i)].
template <class T, class From>
void rearranged(Instruction& instruction, uint32_t count, const LocalTensor<T>& dst, const LocalTensor<T>& src,
                From from) {
  const auto lanes = Lanes::first(instruction, count);
  Unknown unknown;
  unknown.look(instruction, lanes, Strided<T>{src}, "src");
  writes(instruction, lanes, Strided<T>{dst}, "dst");
  const std::vector<T> all(src.data(), src.data() + count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = from(i);
    dst.data()[i] = all[place];
    if (unknown.has(place)) instruction.forget(dst.memory(), dst.data() + i, sizeof(T));
  }
}

struct AndOperation;
struct OrOperation;
struct NotOperation;
template <class F>
constexpr bool kBitwise =
    std::is_same_v<F, AndOperation> || std::is_same_v<F, OrOperation> || std::is_same_v<F, NotOperation>;

// The documented rule for operands that share memory: they must coincide, because otherwise a repeat reads what it or
// an earlier repeat has written.  Applies to tensors without gaps.
template <class D, class S>
void same_or_apart(Instruction& instruction, const Lanes& lanes, const Strided<D>& dst, const Strided<S>& src,
                   const char* distance) {
  if (!instruction.checked() || !lanes.contiguous || sizeof(D) != sizeof(S)) return;
  const auto bytes = static_cast<ptrdiff_t>(lanes.total * sizeof(D));
  const ptrdiff_t ahead =
      reinterpret_cast<const uint8_t*>(dst.tensor.data()) - reinterpret_cast<const uint8_t*>(src.tensor.data());
  constexpr auto repeat = static_cast<ptrdiff_t>(kRepeatBytes);
  const bool is_apart = ahead >= bytes || -ahead >= bytes || ahead <= -repeat || ahead >= 2 * repeat;
  instruction.requires_that(ahead == 0 || is_apart, distance, ahead,
                            "0 for an instruction in place, or no memory in common");
}

template <class F, class D, class S>
void unary(Instruction& instruction, const Lanes& lanes, F f, const Strided<D>& dst, const Strided<S>& src) {
  counted_in_8_bits(instruction, dst, "dstRepStride");
  counted_in_8_bits(instruction, src, "srcRepStride");
  same_or_apart(instruction, lanes, dst, src, "bytes from src to dst");
  Unknown unknown(kBitwise<F>);
  unknown.look(instruction, lanes, src, "src");
  writes(instruction, lanes, dst, "dst");
  compute(lanes, f, dst, src);
  unknown.spread(instruction, lanes, dst);
}

template <class F, class D, class S0, class S1>
void binary(Instruction& instruction, const Lanes& lanes, F f, const Strided<D>& dst, const Strided<S0>& src0,
            const Strided<S1>& src1) {
  counted_in_8_bits(instruction, dst, "dstRepStride");
  counted_in_8_bits(instruction, src0, "src0RepStride");
  counted_in_8_bits(instruction, src1, "src1RepStride");
  same_or_apart(instruction, lanes, dst, src0, "bytes from src0 to dst");
  same_or_apart(instruction, lanes, dst, src1, "bytes from src1 to dst");
  Unknown unknown(kBitwise<F>);
  unknown.look(instruction, lanes, src0, "src0");
  unknown.look(instruction, lanes, src1, "src1");
  writes(instruction, lanes, dst, "dst");
  compute(lanes, f, dst, src0, src1);
  unknown.spread(instruction, lanes, dst);
}

}  // namespace detail
}  // namespace AscendC

inline void set_mask_count() { AscendC::SetMaskCount(); }
inline void set_mask_norm() { AscendC::SetMaskNorm(); }
inline void set_vector_mask(uint64_t high, uint64_t low, opbridge_ascend::Place at = opbridge_ascend::Place::here()) {
  AscendC::SetVectorMask<half>(high, low, at);
}
#endif
