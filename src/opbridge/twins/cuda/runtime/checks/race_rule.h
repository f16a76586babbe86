// The rule by which two accesses race, and the cell after the later one.
//
// Two accesses of the same bytes race if one of them writes, not both are atomic, and nothing orders them: C++'s rule
// ([intro.races]), with the orders that CUDA's memory model adds.  A cell records one access only, so the rule also
// says which of several is kept: the one that a later access would most likely race with.
#ifndef OPBRIDGE_TWIN_CHECKS_RACE_RULE_H
#define OPBRIDGE_TWIN_CHECKS_RACE_RULE_H

#include <stdint.h>

#include "launch.h"
#include "races.h"
#include "state.h"

namespace opbridge_twin::checks {

// Whether an access races, and if so with the one in the cell or with another that it represents.
enum class Race : uint8_t { none, with_last, with_another };

// Whether two atomics of different blocks are not atomic to each other.
inline bool is_too_narrow(const Touch& touch, Cell last) { return touch.access.narrow || is_narrow(last & kSiteMask); }

// Decides whether this access and those in the cell are ordered, or harmless in any order.
inline Race race(const Touch& touch, Cell last, bool ordered, bool mine, bool same_block) {
  const bool other_atomic = state_of(last) == kAtomic || state_of(last) == kAtomicRead;
  const bool writes = touch.access.writes || state_of(last) == kWrite || state_of(last) == kAtomic;
  if (!writes) return Race::none;
  if (touch.access.atomic && other_atomic) {
    return ordered || mine || same_block || !is_too_narrow(touch, last) ? Race::none : Race::with_last;
  }
  if (!ordered && !mine) return Race::with_last;
  if ((last & kManyReaders) == 0) return Race::none;
  // Others read as well.  Where that cannot have been ordered either, one of them is in the way.
  if (state_of(last) == kWarpReads) {
    return mine && (last ^ worker.stamp) >> kClockShift == 0 ? Race::with_another : Race::none;
  }
  const bool since_barrier = state_of(last) == kGridReads || last >= worker.barrier_floor();
  return since_barrier && worker.block->launch().time() == 0 ? Race::with_another : Race::none;
}

// Returns the cell after a load, if it belongs to this launch (or, in shared memory, to this block).
inline Cell after_load(Cell last, Cell mine_now, uint64_t block, bool ordered, bool mine) {
  const Block& self = *worker.block;
  const Cell state = state_of(last);
  if (mine && (last ^ worker.stamp) >> kClockShift == 0) return last;
  if (state == kGridReads) return last;
  if (state == kWrite) return ordered || mine ? mine_now : last;
  if (state == kAtomic || state == kAtomicRead) return mine_now;
  if (block != self.linear()) return as_read_by_many(last, kGridReads);
  if (state == kBlockReads && last >= worker.barrier_floor()) return last;
  if (ordered || mine) return mine_now;
  const bool same_warp = thread_of(last) / kWarp == worker.thread() / kWarp;
  return as_read_by_many(last, same_warp && state != kBlockReads ? kWarpReads : kBlockReads);
}

// Returns the cell after an atomic.  A plain write of the same thread stays, because it also races with atomics of
// others.  A read replaces nothing that it is not ordered with.
inline Cell after_atomic(Access access, Cell last, Cell mine_now, bool ordered, bool mine) {
  const Cell state = state_of(last);
  if (mine && state == kWrite && last >= worker.barrier_floor()) return last;
  if (access.writes || (ordered && !mine)) return mine_now;
  const bool as_strict = mine && (state == kRead || state == kAtomic);
  return as_strict ? with_state(worker.stamp, static_cast<State>(state)) | (last & kSiteMask) : mine ? mine_now : last;
}

inline State state_after(Access access) {
  if (access.atomic) return access.writes ? kAtomic : kAtomicRead;
  return access.writes ? kWrite : kRead;
}

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_RACE_RULE_H
