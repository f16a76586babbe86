// Single requests as they were made, for who draws which thread touches what.
#ifndef OPBRIDGE_TWIN_PROFILING_TOUCHES_H
#define OPBRIDGE_TWIN_PROFILING_TOUCHES_H

#include <set>
#include <tuple>
#include <vector>

#include "profile.h"
#include "requests.h"

namespace opbridge_twin::profile {

// One request of a warp; its addresses count from the first byte of the array, or of shared memory.
struct Touch {
  uint64_t place;
  Kind kind;
  unsigned array;  // 0 is shared memory
  unsigned warp;
  Request request;
};

// The first request of each of the first warps of one block, at each place.
class Touches {
 public:
  void begin_block(bool is_wanted) { is_wanted_ = is_wanted; }
  void begin_warp(unsigned warp) { warp_ = warp; }
  bool wants(uint64_t place, Kind kind, bool is_shared) {
    return is_wanted_ && warp_ < kWarps && seen_.emplace(place, kind, is_shared, warp_).second;
  }
  void keep(uint64_t place, Kind kind, unsigned array, uint64_t begin, const Request& request);
  const std::vector<Touch>& all() const { return all_; }
  // The other one's, whose arrays have these numbers here.
  void take(Touches& other, const std::vector<unsigned>& numbers);

 private:
  static constexpr unsigned kWarps = 8;

  bool is_wanted_ = false;
  unsigned warp_ = 0;
  std::set<std::tuple<uint64_t, Kind, bool, unsigned>> seen_;
  std::vector<Touch> all_;
};

}  // namespace opbridge_twin::profile
#endif
