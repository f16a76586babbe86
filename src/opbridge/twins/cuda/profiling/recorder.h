// One block that is profiled, while it runs.
#ifndef OPBRIDGE_TWIN_PROFILING_RECORDER_H
#define OPBRIDGE_TWIN_PROFILING_RECORDER_H

#include <vector>

#include "counters.h"
#include "warp.h"

namespace opbridge_twin::profile {

// Its lanes' events are kept until the whole block is at one place, or a warp is known to be done.
class Recorder {
 public:
  void begin(unsigned threads, uintptr_t shared_begin, uint64_t shared_bytes, bool keeps_touches);

  Lane& lane(unsigned thread) { return lanes_[thread]; }
  // Threads before it have ended, if none of them has ever had to wait.
  void warps_before_have_ended(unsigned thread);
  void merge_all();
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
  unsigned merged_ = 0;  // warps that are done
  uint64_t waiting_ = 0;
};

}  // namespace opbridge_twin::profile
#endif
