#include "recorder.h"

#include <algorithm>

namespace opbridge_twin::profile {

namespace {

// A multiprocessor of an A100: its first cache next to some shared memory, and its limits for a launch.
constexpr uint64_t kFirstCache = 128 << 10, kMostThreads = 2048, kMostBlocks = 32, kMultiprocessors = 108;

// Returns the sectors of the first cache that a warp gets next to others.
size_t share_of_cache(uint64_t threads, uint64_t blocks) {
  const uint64_t there = (blocks + kMultiprocessors - 1) / kMultiprocessors;
  const uint64_t beside = std::clamp<uint64_t>(std::min(there, kMostThreads / threads), 1, kMostBlocks);
  return kFirstCache / kSectorBytes / beside / ((threads + kLanes - 1) / kLanes);
}

}  // namespace

void Recorder::begin(unsigned threads, uint64_t blocks, uintptr_t shared_begin, uint64_t shared_bytes,
                     bool keeps_touches) {
  counters.begin_block(share_of_cache(threads, blocks));
  counters.touches.begin_block(keeps_touches);
  lanes_.resize(threads);
  for (Lane& lane : lanes_) {
    lane.events.clear();
    lane.is_done = false;
  }
  surroundings_.shared_begin = shared_begin;
  surroundings_.shared_bytes = shared_bytes;
  surroundings_.used.clear();
  ways_ = Ways();
  waiting_ = 0;
}

void Recorder::merge_all() {
  for (unsigned warp = 0; warp * kLanes < lanes_.size(); ++warp) merge_warp(warp);
  for (Lane& lane : lanes_) lane.is_done = false;
  waiting_ = 0;
}

void Recorder::lane_is_done(Lane& lane) {
  lane.is_done = true;
  const auto warp = static_cast<unsigned>((&lane - lanes_.data()) / kLanes);
  const auto first = lanes_.begin() + warp * kLanes;
  const auto end = lanes_.end() - first > kLanes ? first + kLanes : lanes_.end();
  if (!std::all_of(first, end, [](const Lane& one) { return one.is_done; })) return;
  for (auto one = first; one != end; ++one) waiting_ -= one->events.size();
  merge_warp(warp);
}

void Recorder::merge_warp(unsigned warp) {
  const unsigned first = warp * kLanes, rest = static_cast<unsigned>(lanes_.size()) - first;
  counters.touches.begin_warp(warp);
  merge(warp, &lanes_[first], std::min(rest, kLanes), surroundings_, ways_, counters);
}

}  // namespace opbridge_twin::profile
