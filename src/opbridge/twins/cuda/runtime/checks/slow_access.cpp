// What one comparison does not decide: what lies at an address, and whether two accesses race.
#include <algorithm>
#include <optional>

#include "describe.h"
#include "host_access.h"
#include "launch.h"
#include "locals.h"
#include "race_rule.h"
#include "races.h"
#include "shadow.h"
#include "state.h"
#include "surroundings.h"
#include "watch.h"
#include "wrong_places.h"

namespace opbridge_twin::checks {

namespace {

// Returns the work of another stream in a cell, if the launch may run concurrently.
const Work* work_beside(const Touch& touch, Cell last) {
  if (touch.shared || last < worker.ordered_floor) return nullptr;
  return worker.block->launch().beside.of_run(run_of(last));
}

void compare_beside(const Touch& touch, uintptr_t address, size_t bytes, Cell last, const Work& work) {
  if (race(touch, last, false, false, false) == Race::none) return;
  // What kernels tell one another while they run orders them; who has told what to whom is not kept.
  if (work.publishes && worker.block->has_looked()) return;
  const bool both_write = !touch.access.atomic && touch.access.writes && state_of(last) == kWrite;
  if (both_write) return suspect(touch, address, bytes, last, std::nullopt);
  report_race(touch, last, std::nullopt);
}

// What orders two accesses on today's hardware, and not by CUDA's memory model.
void note_weak_order(const Touch& touch, Cell last, uint64_t owner, Order order) {
  const Cell state = state_of(last);
  const bool other_atomic = state == kAtomic || state == kAtomicRead;
  const bool writes = touch.access.writes || state == kWrite || state == kAtomic;
  if (!writes || order == Order::full) return;
  const bool both_atomic = touch.access.atomic && other_atomic;
  if (both_atomic && (touch.access.is_volatile || is_volatile(last & kSiteMask))) {
    note_volatile(touch, last, owner);
  } else if (!touch.access.atomic && order == Order::without_fence) {
    note_missing_fence(touch, last, owner);
  }
}

// Compares an access with the one in its cell; `address` and `bytes` are the part that the cell is for.
void compare(const Touch& touch, Cell* cell, uintptr_t address, size_t bytes) {
  const Cell last = __atomic_load_n(cell, __ATOMIC_RELAXED);
  if (last == kConstant) {
    if (touch.access.writes) report_constant(touch);
    return;
  }
  const auto leave = [cell](Cell value) { __atomic_store_n(cell, value, __ATOMIC_RELAXED); };
  const Access access = touch.access;
  const Cell site = site_of(touch.at);
  if (access.narrow) remember_narrow(site);
  if (access.is_volatile) remember_volatile(site);
  const Cell mine_now = with_state(worker.stamp, state_after(access)) | site;
  Block& block = *worker.block;
  if (last < worker.launch_floor) {
    const Work* const beside = work_beside(touch, last);
    // A later writer races with that reader anyway, so this one need not be recorded.
    if (beside != nullptr && is_plain_load(access) && is_plain_read(last)) {
      return leave(as_read_by_many(last, kGridReads));
    }
    leave(mine_now);
    if (access.reads && last == kUnset) report_unset(touch, address);
    if (beside != nullptr) compare_beside(touch, address, bytes, last, *beside);
    return;
  }
  if (is_nobodys(last) || is_nobodys(worker.stamp)) return leave(mine_now);
  const std::optional<uint64_t> owner = touch.shared ? block.linear() : block.block_of(last);
  if (!owner) return leave(mine_now);  // of another launch
  const bool mine = *owner == block.linear() && thread_of(last) == worker.thread();
  const Order order = block.ordered(last, *owner, worker.thread());
  const bool ordered = order != Order::none, same_block = *owner == block.linear();
  const Race with = race(touch, last, ordered, mine, same_block);
  if (!mine) note_weak_order(touch, last, *owner, order);
  if (access.compares && mine && state_of(last) == kRead) remember_compared_read(last & kSiteMask);
  leave(access.atomic   ? after_atomic(access, last, mine_now, ordered, mine)
        : access.writes ? mine_now
                        : after_load(last, mine_now, *owner, ordered, mine));
  if (with == Race::none) return;
  const bool both_write = !access.atomic && access.writes && state_of(last) == kWrite;
  if (both_write) return suspect(touch, address, bytes, last, *owner);
  report_race(touch, last, with == Race::with_last ? owner : std::nullopt);
}

}  // namespace

void slow_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  end_if_late(at);
  const Worker& self = worker;
  if (self.asm_at != nullptr) at = self.asm_at;
  if (self.block == nullptr) return host_code_access(address, bytes, access, at);
  if (is_on_stack(address)) return stack_access(address, bytes, access, at);
  if (is_out_of_scope(address)) return;
  const Touch touch{address, bytes, access, at, address - self.shared_begin < self.shared_bytes};
  const uintptr_t end = address + bytes;
  for (uintptr_t part = address; part < end;) {
    const uintptr_t granule = part & ~uintptr_t{3};
    const uintptr_t stop = std::min(end, granule + 4);
    Cell* const cell = cell_at(part);
    if (cell == nullptr || __atomic_load_n(cell, __ATOMIC_RELAXED) == kAsk) {
      if (!admit(touch, part)) return;
    }
    const bool whole = stop - part == 4;
    if (whole && __atomic_load_n(cell, __ATOMIC_ACQUIRE) != kSplit) {
      compare(touch, cell, part, 4);
    } else {
      split(granule, cell);
      for (uintptr_t byte = part; byte < stop; ++byte) {
        if (__atomic_load_n(byte_cell_at(byte), __ATOMIC_RELAXED) == kAsk && !admit(touch, byte)) return;
        compare(touch, byte_cell_at(byte), byte, 1);
      }
    }
    part = stop;
  }
}

}  // namespace opbridge_twin::checks
