// What the scalar unit computes, and what it tells: bits of a number, single conversions, the clock, and text.
#ifndef OPBRIDGE_ASCEND_SCALAR_H
#define OPBRIDGE_ASCEND_SCALAR_H

#include <stdio.h>
#include <time.h>

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
// How many bits behind the sign are like it; -1 where all are.
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

inline uint32_t AlignUp(uint32_t value, uint32_t alignment) {
  return alignment == 0 ? 0 : (value + alignment - 1) / alignment * alignment;
}

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

#endif
