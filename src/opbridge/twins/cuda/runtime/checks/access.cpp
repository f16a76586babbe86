// The functions that instrumented code calls before every load and store: one comparison decides most of them.
#include "checks.h"
#include "profile.h"
#include "state.h"

namespace opbridge_twin::checks {

__thread Worker worker __attribute__((tls_model("initial-exec")));

namespace {

// A place is entered once, by a compare-and-swap of null, and stays: a number that was given out means the same place
// for the rest of the process.  The entry is all there is, so that no order of memory is needed.
const void* sites[kSiteMask + 1];

// Of a place in the code.  Traits are only ever added.
enum Trait : uint8_t { kComparedRead = 1, kNarrow = 2, kVolatile = 4, kBulk = 8 };
uint8_t traits[kSiteMask + 1];

void remember(Cell site, Trait trait) {
  if ((__atomic_load_n(&traits[site], __ATOMIC_RELAXED) & trait) == 0)
    __atomic_fetch_or(&traits[site], trait, __ATOMIC_RELAXED);
}
bool is_known_for(Cell site, Trait trait) {
  return site != 0 && (__atomic_load_n(&traits[site], __ATOMIC_RELAXED) & trait) != 0;
}

// Where the table has another place at this number, the next few are tried.
Cell new_site(uintptr_t address, Cell first) {
  constexpr Cell kTries = 64;
  for (Cell i = 0; i < kTries; ++i) {
    const Cell site = (first + i) & kSiteMask;
    if (site == 0) continue;
    const void* there = nullptr;
    const auto here = reinterpret_cast<const void*>(address);
    const bool is_new =
        __atomic_compare_exchange_n(&sites[site], &there, here, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (is_new || there == here) return site;
  }
  return 0;
}

inline Cell load(const Cell* cell) { return __atomic_load_n(cell, __ATOMIC_RELAXED); }
inline void store(Cell* cell, Cell value) { __atomic_store_n(cell, value, __ATOMIC_RELAXED); }

// The place of an access, where it is the first of its choice: the others take the slow way.
struct QuickSite {
  Cell number;
  bool is_known;
};
inline QuickSite quick_site(uintptr_t address) {
  const Cell first = address & kSiteMask;
  return {first, __atomic_load_n(&sites[first], __ATOMIC_RELAXED) == reinterpret_cast<void*>(address)};
}

constexpr Cell kSameThread = ~((Cell{1} << kThreadShift) - 1);
constexpr Cell kSameWarp = kSameThread & ~(Cell{31} << kThreadShift);

inline Cell* look_up(uintptr_t address) {
  Cell* const chunk = worker.chunks[chunk_index(address)];
  return __builtin_expect(chunk == nullptr, 0) ? nullptr : chunk + cell_index(address);
}

// Returns whether an access comes after the one in a cell: that was before the launch and all concurrent work, or in
// this block before its last barrier.  Values from `least` on need no look at the kind of memory.
inline bool is_past(Cell last, Cell least) {
  return last - least < worker.ordered_floor - least || last - worker.run_floor < worker.before_barrier;
}

inline bool leave(Cell* cell, Cell stamp, uintptr_t at) {
  const QuickSite site = quick_site(at);
  if (__builtin_expect(site.is_known, 1)) store(cell, stamp | site.number);
  return site.is_known;
}

// A load of one aligned granule.
inline __attribute__((always_inline)) bool quick_read(uintptr_t address, uintptr_t at) {
  Cell* const cell = look_up(address);
  if (cell == nullptr) return false;
  const Cell last = load(cell);
  if (is_past(last, kFresh)) return leave(cell, worker.stamp, at);
  return ((last ^ worker.stamp) & kSameThread) == 0;
}

inline __attribute__((always_inline)) bool quick_write(uintptr_t address, uintptr_t at) {
  Cell* const cell = look_up(address);
  if (cell == nullptr) return false;
  const Cell last = load(cell);
  if (!is_past(last, kUnset) && ((last ^ worker.stamp) & (kSameThread | kManyReaders)) != 0) return false;
  return leave(cell, with_state(worker.stamp, kWrite), at);
}

// A load of what another thread loaded before: common, and never a race.
inline __attribute__((always_inline)) bool read_again(uintptr_t address) {
  const Worker& self = worker;
  Cell* const cell = look_up(address);
  if (cell == nullptr) return false;
  const Cell last = load(cell);
  if (last < self.launch_floor) return false;
  const Cell state = state_of(last);
  if (state == kGridReads) return true;
  if (state != kRead && state != kWarpReads && state != kBlockReads) return false;
  const Cell differs = last ^ self.stamp;
  if (run_of(differs) != 0) {
    if (last >= self.block_floor && last < self.stamp) return false;  // this block's own, of an earlier run
    store(cell, as_read_by_many(last, kGridReads));
    return true;
  }
  const bool same_warp = thread_of(differs) < 32;
  if (same_warp && (differs & kSameWarp) != 0) return false;  // they may have met in between
  const State together = state == kBlockReads || !same_warp ? kBlockReads : kWarpReads;
  if (state != together) store(cell, as_read_by_many(last, together));
  return true;
}

template <size_t kBytes>
__attribute__((noinline)) void less_quick_read(uintptr_t address, const void* at) {
  for (size_t i = 0; i < kBytes; i += 4) {
    // The quick path has already failed for a single granule.
    if (kBytes > 4 && quick_read(address + i, reinterpret_cast<uintptr_t>(at))) continue;
    if (read_again(address + i)) continue;
    return slow_access(address + i, kBytes - i, kLoad, at);
  }
}

template <size_t kBytes>
inline __attribute__((always_inline)) void read(const void* memory, const void* at) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  for (size_t i = 0; i < kBytes; i += 4) {
    if (__builtin_expect(!quick_read(address + i, reinterpret_cast<uintptr_t>(at)), 0)) {
      return less_quick_read<kBytes>(address, at);
    }
  }
}

template <size_t kBytes>
inline __attribute__((always_inline)) void write(void* memory, const void* at) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  for (size_t i = 0; i < kBytes; i += 4) {
    if (__builtin_expect(!quick_write(address + i, reinterpret_cast<uintptr_t>(at)), 0)) {
      return slow_access(address, kBytes, kStore, at);
    }
  }
}

}  // namespace

Cell site_of(const void* return_address) {
  const auto address = reinterpret_cast<uintptr_t>(return_address);
  const QuickSite site = quick_site(address);
  return site.is_known ? site.number : new_site(address, site.number);
}

void remember_compared_read(Cell site) { remember(site, kComparedRead); }
bool is_compared_read(Cell site) { return is_known_for(site, kComparedRead); }
void remember_narrow(Cell site) { remember(site, kNarrow); }
bool is_narrow(Cell site) { return is_known_for(site, kNarrow); }
void remember_volatile(Cell site) { remember(site, kVolatile); }
bool is_volatile(Cell site) { return is_known_for(site, kVolatile); }
void remember_bulk(Cell site) { remember(site, kBulk); }
bool is_bulk(Cell site) { return is_known_for(site, kBulk); }

const void* site_address(Cell site) { return __atomic_load_n(&sites[site & kSiteMask], __ATOMIC_RELAXED); }

}  // namespace opbridge_twin::checks

#define HERE __builtin_return_address(0)
#define FRAME __builtin_dwarf_cfa()

extern "C" {

using opbridge_twin::checks::read;
using opbridge_twin::checks::write;
using opbridge_twin::profile::Kind;

void __tsan_init() {}

#define ACCESSES(BYTES)                                                        \
  void __tsan_read##BYTES(void* memory) {                                      \
    opbridge_twin::profile::accessed(memory, BYTES, Kind::load, HERE, FRAME);  \
    read<BYTES>(memory, HERE);                                                 \
  }                                                                            \
  void __tsan_write##BYTES(void* memory) {                                     \
    opbridge_twin::profile::accessed(memory, BYTES, Kind::store, HERE, FRAME); \
    write<BYTES>(memory, HERE);                                                \
  }
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
}
