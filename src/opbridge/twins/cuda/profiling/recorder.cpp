#include "recorder.h"

#include <algorithm>

namespace opbridge_twin::profile {

void Recorder::begin(unsigned threads, uintptr_t shared_begin, uint64_t shared_bytes, bool keeps_touches) {
  counters.touches.begin_block(keeps_touches);
  lanes_.resize(threads);
  for (Lane& lane : lanes_) lane.events.clear();
  surroundings_.shared_begin = shared_begin;
  surroundings_.shared_bytes = shared_bytes;
  surroundings_.used.clear();
  ways_ = Ways();
  merged_ = 0;
  waiting_ = 0;
}

void Recorder::warps_before_have_ended(unsigned thread) {
  while ((merged_ + 1) * kLanes <= thread) merge_warp(merged_++);
  waiting_ = 0;
}

void Recorder::merge_all() {
  for (unsigned warp = 0; warp * kLanes < lanes_.size(); ++warp) merge_warp(warp);
  waiting_ = 0;
}

void Recorder::merge_warp(unsigned warp) {
  const unsigned first = warp * kLanes, rest = static_cast<unsigned>(lanes_.size()) - first;
  counters.touches.begin_warp(warp);
  merge(&lanes_[first], std::min(rest, kLanes), surroundings_, ways_, counters);
}

}  // namespace opbridge_twin::profile
