#include "recorder.h"

#include <algorithm>

namespace opbridge_twin::profile {

void Recorder::begin(unsigned threads, uintptr_t shared_begin, uint64_t shared_bytes, bool keeps_touches) {
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
  merge(&lanes_[first], std::min(rest, kLanes), surroundings_, ways_, counters);
}

}  // namespace opbridge_twin::profile
