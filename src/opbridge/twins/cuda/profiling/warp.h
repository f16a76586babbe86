// The lanes of a warp one after the other, as the twin runs them, put side by side again, as a GPU runs them.
#ifndef OPBRIDGE_TWIN_PROFILING_WARP_H
#define OPBRIDGE_TWIN_PROFILING_WARP_H

#include <stdint.h>

#include <vector>

#include "checks/memory.h"
#include "counters.h"
#include "ways.h"

namespace opbridge_twin::profile {

// One thing that a thread did.
//
//   order   | calls left | place in the code |      what   | kind | log2 of bytes | address |
//            63        48 47                0               63  60 59           56 55      0
//
// The less an order, the deeper in calls: lanes that are there go on before those that are not.
struct Event {
  uint64_t order;
  uint64_t what;
};

constexpr int kPlaceBits = 48, kKindShift = 60, kSizeShift = 56;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1, kAddressMask = (uint64_t{1} << kSizeShift) - 1;
constexpr uint64_t kDeepest = 0xffff;
constexpr uint64_t kNoMore = ~uint64_t{0};  // an order after all others

inline uint64_t address_of(const Event& event) { return event.what & kAddressMask; }
inline Kind kind_of(const Event& event) { return static_cast<Kind>(event.what >> kKindShift); }
inline unsigned bytes_of(const Event& event) { return 1u << (event.what >> kSizeShift & 15); }

// What a thread did since its block was last together.
struct Lane {
  std::vector<Event> events;
  uintptr_t frame = 0;   // where its stack begins
  bool is_done = false;  // up to the barrier that it waits at, or for good
};

// Where a block has its shared memory, and the allocations that it has used.
struct Surroundings {
  uintptr_t shared_begin = 0;
  uint64_t shared_bytes = 0;
  std::vector<checks::Allocation> used;

  // Null where there is none.
  const checks::Allocation* holding(uint64_t address);
};

// Counts what `lanes`, those of a warp, have done and forgets it; `ways` are those of warps before, of the same kernel.
void merge(unsigned warp, Lane* lanes, unsigned count, Surroundings& surroundings, Ways& ways, Counters& counters);

}  // namespace opbridge_twin::profile
#endif
