// What the scalar unit computes, and what it tells: bits of a number, single conversions, the clock, and text.
#ifndef OPBRIDGE_ASCEND_SCALAR_H
#define OPBRIDGE_ASCEND_SCALAR_H

#include <stdio.h>
#include <time.h>

#include <type_traits>

#include "constants.h"
#include "tensor.h"

namespace AscendC {

using ::printf;

// How many bits are countValue.
template <int countValue>
int64_t ScalarGetCountOfValue(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "countValue is the value of a bit");
  return __builtin_popcountll(countValue == 1 ? value : ~value);
}
inline int64_t ScalarCountLeadingZero(uint64_t value) { return value == 0 ? 64 : __builtin_clzll(value); }
// Counts the bits after the sign that equal it; returns -1 if all do.
inline int64_t CountBitsCntSameAsSignBit(int64_t value) {
  return value == 0 || value == -1 ? -1 : __builtin_clrsbll(value);
}
// The place of the lowest bit that is countValue; -1 for none.
template <int countValue>
int64_t ScalarGetSFFValue(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "countValue is the value of a bit");
  const uint64_t sought = countValue == 1 ? value : ~value;
  return sought == 0 ? -1 : __builtin_ctzll(sought);
}

inline bfloat16_t ToBfloat16(const float& value) { return bfloat16_t(value); }
inline float ToFloat(const bfloat16_t& value) { return value; }

namespace detail {

template <class A, class B>
using Whole = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>, std::common_type_t<A, B>>;

}  // namespace detail

// Quotients are rounded up; by zero they are zero.
template <class A, class B>
constexpr detail::Whole<A, B> DivCeil(A value, B by) {
  return by == 0 ? 0 : (value + by - 1) / by;
}
template <class A, class B>
constexpr detail::Whole<A, B> CeilDivision(A value, B by) {
  return DivCeil(value, by);
}
template <class A, class B>
constexpr detail::Whole<A, B> Ceil(A value, B by) {
  return DivCeil(value, by);
}
template <class A, class B>
constexpr detail::Whole<A, B> AlignUp(A value, B alignment) {
  return DivCeil(value, alignment) * alignment;
}

// For kernels, whose compiler may not have the standard library's headers.
template <class A, class B>
struct IsSameType {
  static constexpr bool value = std::is_same_v<A, B>;
};

// What the instructions are written with.
struct AscendCUtils {
  static constexpr int32_t GetBitSize(int32_t bytes) { return bytes * 8; }
  static constexpr int32_t GetC0Size() { return DEFAULT_C0_SIZE; }
  static constexpr int32_t GetC0Count(int32_t bytes) { return bytes == 0 ? 0 : DEFAULT_C0_SIZE / bytes; }
  static constexpr int32_t GetDefaultBlockNum() { return DEFAULT_BLK_NUM; }
};

// The hardware's clock runs at 50 MHz.
inline int64_t GetSystemCycle() {
  constexpr int64_t kTicksPerSecond = 50'000'000, kNanosecondsPerTick = 20;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kTicksPerSecond + now.tv_nsec / kNanosecondsPerTick;
}

// What scalar accesses wait for.  Here they are done when they return.
enum class MemDsbT : uint64_t { ALL, DDR, UB, SEQ };
template <MemDsbT arg0>
void DataSyncBarrier() {}

}  // namespace AscendC

#define PRINTF(...) printf(__VA_ARGS__)

// The end of the block where it does not hold.
#define ASSERT(...) ::opbridge_ascend::assert_that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#define ascendc_assert(expression, ...) ASSERT(expression)

// What the compiler knows of scalars by itself.  The types may differ; std's, where they are visible too, come first.
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}
// Bits of a register.
constexpr uint64_t sbitset0(uint64_t value, int64_t bit) { return value & ~(uint64_t{1} << bit); }
constexpr uint64_t sbitset1(uint64_t value, int64_t bit) { return value | uint64_t{1} << bit; }
constexpr int64_t bcnt0(uint64_t value) { return __builtin_popcountll(~value); }
constexpr int64_t bcnt1(uint64_t value) { return __builtin_popcountll(value); }
constexpr int64_t sff0(uint64_t value) { return ~value == 0 ? -1 : __builtin_ctzll(~value); }
constexpr int64_t sff1(uint64_t value) { return value == 0 ? -1 : __builtin_ctzll(value); }

// In brackets, for a kernel that has macros of these names.
constexpr bool(likely)(bool condition) { return condition; }
constexpr bool(unlikely)(bool condition) { return condition; }

#endif
