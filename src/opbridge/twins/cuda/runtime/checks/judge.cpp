// What one comparison does not decide: what lies at an address, and whether two accesses race.
#include <algorithm>
#include <optional>

#include "describe.h"
#include "launch.h"
#include "locals.h"
#include "memory.h"
#include "races.h"
#include "shadow.h"
#include "state.h"
#include "surroundings.h"
#include "watch.h"

namespace opbridge_twin::checks {

namespace {

// One access of one thread, with what a report about it would say.
void report_stray_of_shared(const Touch& touch) {
  Report report = report_here(Kind::out_of_bounds, touch.at, in_words(touch) + " out of bounds of shared memory");
  // Dynamic shared memory of no bytes begins where all shared memory ends.
  const bool none_given = running_block().launch().info.dynamic_shared_bytes == 0;
  const bool is_of_none = none_given && touch.address >= worker.shared_begin + worker.shared_bytes;
  const std::string position =
      is_of_none ? "where this launch gives no dynamic shared memory" : shared_position_of(touch.address);
  report.details.emplace_back("address", hexadecimal(touch.address) + ", " + position);
  if (is_of_none) report.advice = "give the number of bytes, the third argument of <<<blocks, threads, bytes>>>";
  found(std::move(report));
}

// An address that no allocation holds, in device code.
void report_stray(const Touch& touch, uintptr_t stray) {
  constexpr uintptr_t kNull = 65536;
  constexpr uintptr_t kNear = 65536;
  if (stray - worker.shared_begin + kNear < worker.shared_bytes + 2 * kNear) return report_stray_of_shared(touch);
  if (stray < kNull) {
    Report report = report_here(Kind::null_pointer, touch.at, in_words(touch) + " through a null pointer");
    report.details.emplace_back("address", hexadecimal(touch.address));
    return found(std::move(report));
  }
  const std::optional<Allocation> near = memory.nearest(stray);
  const uintptr_t reach = near ? std::max<uintptr_t>(kNear, near->bytes) : 0;
  const bool meant = near && stray - near->begin + reach < near->bytes + 2 * reach;
  Kind kind = Kind::out_of_bounds;
  std::string what = in_words(touch) + " out of bounds";
  if (near && near->freed && near->holds(stray)) {
    kind = Kind::use_after_free;
    what = in_words(touch) + " of memory that was freed";
  } else if (!meant && !memory.in_device_region(stray)) {
    kind = Kind::host_memory;
    what = in_words(touch) + " of host memory in device code";
  }
  Report report = report_here(kind, touch.at, what);
  if (kind == Kind::host_memory) {
    report.details.emplace_back("address", hexadecimal(touch.address));
  } else {
    report.details.emplace_back("address", where_it_lies(touch));
  }
  if (kind == Kind::use_after_free) report.details.emplace_back("freed", place(near->freed_at));
  found(std::move(report));
}

// Gives the cell of a first access its value.  False where the address is nobody's business.
bool admit(const Touch& touch, uintptr_t address) {
  if (touch.shared) {
    report_stray_of_shared(touch);
    return false;
  }
  if (memory.admit(address)) return true;
  if (!is_harmless(address)) report_stray(touch, address);
  return false;
}

void report_in_flight(const Touch& touch, const CopyInFlight& copy) {
  const Block& block = *worker.block;
  Report report = report_here(Kind::copy_in_flight, touch.at,
                              in_words(touch) + " of shared memory that an asynchronous copy may still be writing");
  report.details.emplace_back(
      "copy", place(copy.at) + ", " + thread_in_words(block.launch().info, block.linear(), copy.thread));
  report.details.emplace_back("address", where_it_lies(touch));
  if (!running_block().copies.is_committed(copy)) {
    report.advice =
        "end the group of copies (__pipeline_commit, cp.async.commit_group) and wait for it, or use "
        "cp.async.wait_all: only committed groups are waited for";
  }
  found(std::move(report));
}

void report_unset(const Touch& touch, uintptr_t address) {
  if (touch.shared) {
    if (const auto copy = running_block().copies.at(address)) return report_in_flight(touch, *copy);
  }
  if (!touch.shared && !memory.first_unset_read(touch.address)) return;
  Report report = touch.shared ? report_here(Kind::unset_shared, touch.at,
                                             in_words(touch) + " of shared memory that this block has not written")
                               : report_here(Kind::unset_global, touch.at,
                                             in_words(touch) + " of memory that has not been written");
  report.details.emplace_back("address", where_it_lies(touch));
  found(std::move(report));
}

void report_constant(const Touch& touch) {
  Report report = report_here(Kind::constant_write, touch.at, in_words(touch) + " of constant memory");
  report.details.emplace_back("address", where_it_lies(touch));
  found(std::move(report));
}

enum class Race : uint8_t { none, with_last, with_another };

// Whether two atomics of different blocks are not atomic to each other.
bool is_too_narrow(const Touch& touch, Cell last) { return touch.access.narrow || is_narrow(last & kSiteMask); }

// Decides whether this access and those in the cell are ordered, or harmless in any order.
Race race(const Touch& touch, Cell last, bool ordered, bool mine, bool same_block) {
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
Cell after_load(Cell last, Cell mine_now, uint64_t block, bool ordered, bool mine) {
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
Cell after_atomic(Access access, Cell last, Cell mine_now, bool ordered, bool mine) {
  const Cell state = state_of(last);
  if (mine && state == kWrite && last >= worker.barrier_floor()) return last;
  if (access.writes || (ordered && !mine)) return mine_now;
  const bool as_strict = mine && (state == kRead || state == kAtomic);
  return as_strict ? with_state(worker.stamp, static_cast<State>(state)) | (last & kSiteMask) : mine ? mine_now : last;
}

State state_after(Access access) {
  if (access.atomic) return access.writes ? kAtomic : kAtomicRead;
  return access.writes ? kWrite : kRead;
}

// Returns the work of another stream in a cell, if the launch may run concurrently.
const Work* work_beside(const Touch& touch, Cell last) {
  if (touch.shared || last < worker.ordered_floor) return nullptr;
  return worker.block->launch().beside.of_run(run_of(last));
}

void judge_beside(const Touch& touch, uintptr_t address, size_t bytes, Cell last, const Work& work) {
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

// `address` and `bytes` are the part that the cell is for.
void judge(const Touch& touch, Cell* cell, uintptr_t address, size_t bytes) {
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
    if (beside != nullptr) judge_beside(touch, address, bytes, last, *beside);
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

void report_host_access(uintptr_t address, const std::string& what, const void* at) {
  const std::optional<Allocation> allocation = memory.nearest(address);
  Report report = report_on_host(Kind::device_memory, at, what + " of device memory in host code");
  report.details.emplace_back(
      "address", hexadecimal(address) + (allocation ? ", " + allocation->position_of(address) : std::string()));
  deliver(report);
}

// What a kernel may still be doing, because the host has not waited for it.  Kernels that hand over values while they
// run, and host code that polls, know what they do.
void judge_host_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  const Cell* const cell = cell_at(address);
  if (cell == nullptr || access.atomic) return;
  const Cell whole = __atomic_load_n(cell, __ATOMIC_RELAXED);
  const Cell last = whole == kSplit ? __atomic_load_n(byte_cell_at(address), __ATOMIC_RELAXED) : whole;
  const bool kernel_writes = state_of(last) == kWrite || state_of(last) == kAtomic;
  if (run_of(last) == 0 || is_nobodys(last) || !(kernel_writes || access.writes)) return;
  const std::optional<Work> work = stream_order.open_work(run_of(last));
  if (!work || work->publishes) return;
  const char* const what =
      kernel_writes ? " that a kernel may still be writing" : " that a kernel may still be reading";
  Report report = report_on_host(
      Kind::host_race, at,
      access_in_words(access) + " of " + bytes_in_words(bytes) + what + ": the host has not waited for it");
  report.details.emplace_back("kernel", place(site_address(last & kSiteMask)));
  const std::optional<Allocation> allocation = memory.nearest(address);
  report.details.emplace_back("address", hexadecimal(address) + ", " + allocation->position_of(address));
  deliver(report);
}

void host_code_access(uintptr_t address, size_t bytes, Access access, const void* at) {
  const bool is_tensor = memory.is_adopted(address);
  if (!is_tensor && !memory.in_device_region(address)) return;
  const std::optional<Allocation> allocation = memory.nearest(address);
  const bool is_open = allocation && allocation->holds(address) && !allocation->freed;
  if (!is_tensor && is_open && allocation->space != Space::device) {
    return judge_host_access(address, bytes, access, at);
  }
  report_host_access(address, access_in_words(access) + " of " + bytes_in_words(bytes), at);
}

}  // namespace

void host_touched(const void* address, const void* at) {
  report_host_access(reinterpret_cast<uintptr_t>(address), "use", at);
}

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
      judge(touch, cell, part, 4);
    } else {
      split(granule, cell);
      for (uintptr_t byte = part; byte < stop; ++byte) {
        if (__atomic_load_n(byte_cell_at(byte), __ATOMIC_RELAXED) == kAsk && !admit(touch, byte)) return;
        judge(touch, byte_cell_at(byte), byte, 1);
      }
    }
    part = stop;
  }
}

}  // namespace opbridge_twin::checks
