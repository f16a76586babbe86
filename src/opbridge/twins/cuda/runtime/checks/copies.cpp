#include "copies.h"

#include <algorithm>

#include "describe.h"
#include "launch.h"
#include "memory.h"
#include "shadow.h"

namespace opbridge_twin::checks {

namespace {

// Calls `look` with each cell of the bytes, until it returns true; bytes that share a granule with others have theirs
// only where the granule is split.
template <class Look>
void for_cells(const Copy& copy, Look look) {
  const uintptr_t end = copy.address + copy.bytes;
  for (uintptr_t at = copy.address; at < end;) {
    const uintptr_t granule = at & ~uintptr_t{3};
    const uintptr_t stop = std::min(end, granule + 4);
    Cell* const cell = cell_at(granule);
    if (cell == nullptr) return;
    if (__atomic_load_n(cell, __ATOMIC_ACQUIRE) == kSplit) {
      for (; at < stop; ++at) {
        if (look(byte_cell_at(at), at)) return;
      }
    } else if (stop - at == 4 && look(cell, at)) {
      return;
    }
    at = stop;
  }
}

void report(const Copy& copy, uintptr_t address, Cell last) {
  Report report = report_on_host(Kind::stream_race, copy.made_at,
                                 "work of two streams races on global memory: nothing orders them, and one writes");
  const bool other_writes = state_of(last) == kWrite || state_of(last) == kAtomic;
  const std::string other = place(site_address(last & kSiteMask));
  report.subject = copy.how;
  report.same_as += other;
  report.details = {
      {"one", (copy.writes ? "write of " : "read of ") + bytes_in_words(copy.bytes) + " at " + place(copy.made_at)},
      {"other", (other_writes ? "write at " : "read at ") + other + ", on another stream"}};
  const std::optional<Allocation> allocation = memory.nearest(address);
  report.details.emplace_back("address",
                              hexadecimal(address) + (allocation ? ", " + allocation->position_of(address) : ""));
  deliver(report);
}

}  // namespace

void report_races_of_copy(const Copy& copy, const Concurrent& beside) {
  for_cells(copy, [&](const Cell* cell, uintptr_t address) {
    const Cell last = __atomic_load_n(cell, __ATOMIC_RELAXED);
    const bool one_writes = copy.writes || state_of(last) == kWrite || state_of(last) == kAtomic;
    const bool races = one_writes && beside.of_run(run_of(last)) != nullptr;
    if (races) report(copy, address, last);
    return races;
  });
}

void leave_cells_of_copy(const Copy& copy, const Concurrent& beside) {
  if (!memory.holding(copy.address)) return;
  const State state = copy.writes ? kWrite : kRead;
  const Cell stamp = with_state(take_run_number() << kRunShift, state) | site_of(copy.made_at);
  for_cells(copy, [&](Cell* cell, uintptr_t) {
    const Cell last = __atomic_load_n(cell, __ATOMIC_RELAXED);
    // What nobody has written stays so, and a reader that others may race with goes before this one.
    const bool stays = !copy.writes && (last < kFresh || beside.of_run(run_of(last)) != nullptr);
    if (!stays) __atomic_store_n(cell, stamp, __ATOMIC_RELAXED);
    return false;
  });
}

}  // namespace opbridge_twin::checks
