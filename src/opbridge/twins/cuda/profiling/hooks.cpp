// What the execution layer and instrumented code tell, taken down.
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "checks/state.h"
#include "engine/block.h"
#include "engine/launch.h"
#include "kept.h"
#include "profile.h"
#include "recorder.h"

namespace opbridge_twin::profile {

namespace {

// How many blocks of a launch are profiled, spread over the grid: as many as have so many threads together.
constexpr uint64_t kThreads = 2048, kFewestBlocks = 4, kMostBlocks = 16;

// Events that one turn of an atomic's loop takes at most, those of the loop itself included.
constexpr size_t kAttempt = 8;

// What the thread of the machine is at: null where nobody listens.
__thread Recorder* recorder __attribute__((tls_model("initial-exec"))) = nullptr;
__thread Lane* lane __attribute__((tls_model("initial-exec"))) = nullptr;

thread_local std::map<const Block*, Recorder> recorders;

uint64_t threads_of(ob_twin_dim size) { return uint64_t{size.x} * size.y * size.z; }

uint64_t wanted_blocks(uint64_t threads) { return std::clamp(kThreads / threads, kFewestBlocks, kMostBlocks); }

// One block of each part of the grid, at another place in each: those at equal distances might all be at the corners of
// images.  The golden ratio's multiples are spread evenly over whatever period the work has.
uint64_t chosen_of(uint64_t part, uint64_t blocks, uint64_t wanted) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  const uint64_t begin = part * blocks / wanted, end = (part + 1) * blocks / wanted;
  return begin + ((part * kGolden >> 32) * (end - begin) >> 32);
}

bool is_chosen(uint64_t block, uint64_t blocks, uint64_t wanted) {
  if (blocks <= wanted) return true;
  // The part of the block begins at the block or before it.
  const uint64_t part = ((block + 1) * wanted - 1) / blocks;
  return chosen_of(part, blocks, wanted) == block;
}

__attribute__((always_inline)) inline void note(Kind kind, uint64_t address, unsigned size, const void* at,
                                                const void* frame) {
  if (!recorder->has_room()) {
    recorder->is_cut = true;
    lane = nullptr;
    return;
  }
  // In units of what a stack is aligned to.
  const uint64_t depth = std::min<uint64_t>((lane->frame - reinterpret_cast<uintptr_t>(frame)) >> 4, kDeepest);
  lane->events.push_back(
      {(kDeepest - depth) << kPlaceBits | (reinterpret_cast<uint64_t>(at) & kPlaceMask),
       static_cast<uint64_t>(kind) << kKindShift | uint64_t{size} << kSizeShift | (address & kAddressMask)});
}

void listen_to(const Block& block) {
  const auto found = recorders.find(&block);
  recorder = found == recorders.end() ? nullptr : &found->second;
  lane = nullptr;
}

}  // namespace

bool counts_alone() {
  static const char* const asked = getenv("OPBRIDGE_TWIN_PROFILE_ALONE");
  return asked != nullptr && *asked != '\0';
}

std::vector<uint64_t> blocks_alone(ob_twin_dim grid, ob_twin_dim block) {
  std::vector<uint64_t> chosen;
  if (!counts_alone()) return chosen;
  const uint64_t blocks = threads_of(grid), wanted = std::min(blocks, wanted_blocks(threads_of(block)));
  for (uint64_t i = 0; i < wanted; ++i) chosen.push_back(chosen_of(i, blocks, wanted));
  return chosen;
}

void block_begins(const Block& block, const Launch& launch) {
  recorder = nullptr;
  lane = nullptr;
  const uint64_t threads = threads_of(launch.block);
  const bool chosen = launch.sample != nullptr || is_chosen(block.linear, launch.blocks(), wanted_blocks(threads));
  if (block.checked == nullptr || !chosen || !launch_is_profiled()) return;
  recorder = &recorders[&block];
  recorder->is_cut = false;
  recorder->begin(static_cast<unsigned>(threads), launch.blocks(), reinterpret_cast<uintptr_t>(block.shared.arena()),
                  SharedMemory::kArenaBytes, block.linear == 0 && launch_is_first());
}

void block_resumed(const Block& block) { listen_to(block); }

void block_ends(const Block& block) {
  if (recorder == nullptr) return;
  if (recorder->is_cut) {
    leave_out();
  } else {
    recorder->merge_all();
    keep(recorder->counters, block.shared.static_bytes());
  }
  // The next one on this thread has use for its memory, but not for half of a block's counts.
  if (recorder->is_cut || recorders.size() > 1) recorders.erase(&block);
  recorder = nullptr;
  lane = nullptr;
}

void block_abandoned(const Block& block) {
  recorders.erase(&block);
  recorder = nullptr;
  lane = nullptr;
}

void thread_begins(unsigned thread, const void* frame) {
  if (recorder == nullptr || recorder->is_cut) return;
  lane = &recorder->lane(thread);
  lane->frame = reinterpret_cast<uintptr_t>(frame);
}

void thread_goes_on(unsigned thread) {
  if (recorder == nullptr || recorder->is_cut) return;
  lane = &recorder->lane(thread);
  lane->is_done = false;
}

void thread_is_left() { lane = nullptr; }

void barrier_passed() {
  if (recorder != nullptr) recorder->merge_all();
}

void accessed(const volatile void* memory, size_t bytes, Kind kind, const void* at, const void* frame) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (lane == nullptr || checks::is_out_of_scope(address)) return;
  // A GPU reads other sizes than words in pieces that the address allows.
  const size_t whole = bytes <= 16 && (bytes & (bytes - 1)) == 0 ? bytes : 4;
  for (size_t done = 0; done < bytes && lane != nullptr; done += whole) {
    note(kind, address + done, static_cast<unsigned>(__builtin_ctzll(whole)), at, frame);
  }
}

void attempted(const volatile void* memory, size_t bytes, const void* at, const void* frame) {
  if (lane == nullptr) return;
  std::vector<Event>& events = lane->events;
  for (size_t back = 1; back <= std::min<size_t>(kAttempt, events.size()); ++back) {
    const Event& event = events[events.size() - back];
    if (kind_of(event) == Kind::block) continue;
    if (address_of(event) == reinterpret_cast<uintptr_t>(memory)) events.resize(events.size() - back);
    break;
  }
  accessed(memory, bytes, Kind::atomic, at, frame);
}

void waited(Kind kind, const void* at, const void* frame) {
  if (lane == nullptr) return;
  note(kind, 0, 0, at, frame);
  if (lane != nullptr && kind == Kind::barrier) recorder->lane_is_done(*lane);
  lane = nullptr;  // what the last to come does for all is not its own
}

}  // namespace opbridge_twin::profile

void ob_twin_thread_ends() {
  using namespace opbridge_twin::profile;
  if (lane != nullptr) recorder->lane_is_done(*lane);
  lane = nullptr;
}

extern "C" void __sanitizer_cov_trace_pc() {
  using namespace opbridge_twin::profile;
  if (lane != nullptr) note(Kind::block, 0, 0, __builtin_return_address(0), __builtin_dwarf_cfa());
}
