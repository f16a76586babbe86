#include "races.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "describe.h"
#include "launch.h"
#include "memory.h"
#include "surroundings.h"

namespace opbridge_twin::checks {

namespace {

// Longer than a thread of the machine takes from recording a write to writing, unless it is interrupted in between.
constexpr useconds_t kUntilWritten = 100;

constexpr size_t kMany = 4096;

uint64_t places_of(const Touch& touch, Cell last) {
  const Cell here = site_of(touch.at), there = last & kSiteMask;
  return std::min(here, there) << kStateShift | std::max(here, there);
}

struct Suspicion {
  Touch touch;
  uintptr_t address;
  size_t bytes;
  Cell last;
  std::optional<uint64_t> other_block;
  uint32_t before;
  bool certain;  // the other one had written by then

  uint32_t now() const {
    uint32_t value = 0;
    memcpy(&value, reinterpret_cast<const void*>(address), bytes);
    return value;
  }
  uint64_t places() const { return places_of(touch, last); }
};

thread_local std::vector<Suspicion> suspicions;

const char* name_of(Cell cell) {
  const State state = static_cast<State>(state_of(cell));
  if (is_volatile(cell & kSiteMask)) return state == kAtomic ? "volatile write" : "volatile read";
  switch (state) {
    case kWrite:
      return "write";
    case kAtomic:
      return "atomic update";
    case kAtomicRead:
      return "atomic read";
    default:
      return "read";
  }
}

bool is_of_another_stream(Cell last) { return worker.block->launch().beside.of_run(run_of(last)) != nullptr; }

Report report_of(Kind kind, std::string what, const Touch& touch, Cell last, std::optional<uint64_t> other_block) {
  const Block& block = *worker.block;
  Report report = report_here(kind, touch.at, std::move(what));
  const std::string here = place(touch.at);
  const std::string there = place(site_address(last & kSiteMask));
  const std::string one = in_words(touch) + " at " + report.details.front().second;
  std::string other = std::string(name_of(last)) + " at " + there + ", ";
  bool other_first = false;
  if (other_block) {
    const auto thread = static_cast<uint32_t>(thread_of(last));
    other += thread_in_words(block.launch().info, *other_block, thread);
    other_first = std::make_pair(*other_block, thread) < std::make_pair(block.linear(), worker.thread());
  } else {
    other += is_of_another_stream(last) ? "on another stream" : "another thread";
  }
  report.details = {{"one", other_first ? other : one}, {"other", other_first ? one : other}};
  report.details.emplace_back("address", where_it_lies(touch));
  report.same_as = std::min(here, there) + std::max(here, there);
  return report;
}

std::string memory_of(const Touch& touch) { return touch.shared ? "shared memory" : "global memory"; }

void note_same_value(const Suspicion& of) {
  if (!worker.block->launch().notes_same_value(of.places())) return;
  Report report = report_of(Kind::same_value,
                            "two threads write the same value to " + memory_of(of.touch) + ", and nothing orders them",
                            of.touch, of.last, of.other_block);
  const Block& block = *worker.block;
  // The same thread of two blocks: as where an index is made of threadIdx alone.
  if (of.other_block && *of.other_block != block.linear() && thread_of(of.last) == worker.thread()) {
    report.advice =
        "each block writes the same elements: if they were to be its own, add blockIdx.x * blockDim.x to the "
        "index, for without it none from " +
        std::to_string(block.launch().info.block.count()) + " on is written";
  }
  found(std::move(report));
}

// The site of a plain read on one side where the other one is an atomic; 0 elsewhere.
Cell read_beside_atomic(const Touch& touch, Cell last) {
  const Cell state = state_of(last);
  if (touch.access.atomic) return state == kRead || (last & kManyReaders) != 0 ? last & kSiteMask : 0;
  return touch.access.writes || state != kAtomic ? 0 : site_of(touch.at);
}

}  // namespace

std::string in_words(const Touch& touch) {
  return access_in_words(touch.access) + " of " + bytes_in_words(touch.bytes);
}

std::string where_it_lies(const Touch& touch) {
  if (touch.shared) return hexadecimal(touch.address) + ", " + shared_position_of(touch.address);
  const std::optional<Allocation> allocation = memory.nearest(touch.address);
  return hexadecimal(touch.address) + (allocation ? ", " + allocation->position_of(touch.address) : "");
}

void report_race(const Touch& touch, Cell last, std::optional<uint64_t> other_block) {
  const Kind kind = touch.shared                 ? Kind::shared_race
                    : is_of_another_stream(last) ? Kind::stream_race
                                                 : Kind::global_race;
  const std::string who = kind == Kind::stream_race ? "work of two streams races" : "two threads race";
  Report report = report_of(kind, who + " on " + memory_of(touch) + ": nothing orders them, and one writes", touch,
                            last, other_block);
  report.compared_read = read_beside_atomic(touch, last);
  const Cell state = state_of(last);
  if (touch.access.atomic && (state == kAtomic || state == kAtomicRead)) {
    report.what = "two blocks race on " + memory_of(touch) + ": an atomic of one block is not atomic for another block";
    report.advice =
        "use the function without _block, or thread_scope_device: blocks are of one device, not of one block";
  }
  found(std::move(report));
}

void note_volatile(const Touch& touch, Cell last, uint64_t other_block) {
  if (!worker.block->launch().is_new(Kind::volatile_sync, places_of(touch, last))) return;
  found(report_of(Kind::volatile_sync, "threads hand over a value by volatile, which orders nothing", touch, last,
                  other_block));
}

void note_missing_fence(const Touch& touch, Cell last, uint64_t other_block) {
  if (!worker.block->launch().is_new(Kind::missing_fence, places_of(touch, last))) return;
  found(report_of(Kind::missing_fence,
                  "a thread uses " + memory_of(touch) + " after a relaxed atomic, without a fence in between", touch,
                  last, other_block));
}

void suspect(const Touch& touch, uintptr_t address, size_t bytes, Cell last, std::optional<uint64_t> other_block) {
  // Settles finished suspicions if there are very many.
  if (suspicions.size() >= kMany && suspicions.back().touch.address != touch.address) settle_suspicions();
  Suspicion one{touch, address, bytes, last, other_block, 0, true};
  // A thread of another block may have recorded its write and not written yet.  Wait for it once for each pair of
  // lines; a difference in a pair that has only agreed so far also counts only after a wait.
  if (other_block && *other_block != worker.block->linear()) {
    one.certain = !worker.block->launch().knows_same_value(one.places());
    if (one.certain) usleep(kUntilWritten);
  }
  one.before = one.now();
  suspicions.push_back(one);
  worker.has_suspicions = true;
}

void settle_suspicions() {
  if (!std::exchange(worker.has_suspicions, false)) return;
  const auto differs = [](const Suspicion& one) { return one.now() != one.before; };
  // One half of a double may be the same.
  const bool any = std::any_of(suspicions.begin(), suspicions.end(), differs);
  for (const Suspicion& one : suspicions) {
    if (!any) {
      note_same_value(one);
    } else if (differs(one) && one.certain) {
      report_race(one.touch, one.last, one.other_block);
    } else if (differs(one)) {
      worker.block->launch().forgets_same_value(one.places());
    }
  }
  suspicions.clear();
}

}  // namespace opbridge_twin::checks
