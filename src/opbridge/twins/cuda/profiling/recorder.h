// One block that is profiled, while it runs.
#ifndef OPBRIDGE_TWIN_PROFILING_RECORDER_H
#define OPBRIDGE_TWIN_PROFILING_RECORDER_H

#include <vector>

#include "counters.h"
#include "warp.h"

namespace opbridge_twin::profile {

// Its lanes' events are kept until the whole block is at one place, or a warp is known to be done or to wait there.
class Recorder {
 public:
  void begin(unsigned threads, uint64_t blocks, uintptr_t shared_begin, uint64_t shared_bytes, bool keeps_touches);

  Lane& lane(unsigned thread) { return lanes_[thread]; }
  void merge_all();
  void lane_is_done(Lane& lane);
  // Events that are waiting to be put side by side; past the limit the block is left.
  bool has_room() { return ++waiting_ < kMostEvents; }

  Counters counters;
  bool is_cut = false;  // it did more than is kept

 private:
  static constexpr uint64_t kMostEvents = uint64_t{1} << 24;

  void merge_warp(unsigned warp);

  std::vector<Lane> lanes_;
  Surroundings surroundings_;
  Ways ways_;
  uint64_t waiting_ = 0;
};

}  // namespace opbridge_twin::profile
#endif
