// What a launch costs, by place in the code.
#ifndef OPBRIDGE_TWIN_PROFILING_COUNTERS_H
#define OPBRIDGE_TWIN_PROFILING_COUNTERS_H

#include <stdint.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "profile.h"
#include "requests.h"

namespace opbridge_twin::profile {

// Which memory a request is for.
enum class Space : uint8_t { none, global, shared };

// One thing that one place does.
struct Place {
  uint64_t address;  // a return address in the kernel
  Kind kind;
  Space space;

  bool operator==(const Place& other) const {
    return address == other.address && kind == other.kind && space == other.space;
  }
};

struct HashOfPlace {
  size_t operator()(const Place& place) const {
    return (place.address ^ static_cast<uint64_t>(place.kind) << 60 ^ static_cast<uint64_t>(place.space) << 56) *
           0x9e3779b97f4a7c15;
  }
};

// Sums over requests; parts are sectors or passes, as in Cost.
struct Count {
  uint64_t requests = 0;
  uint64_t lanes = 0;
  uint64_t bytes = 0;
  uint64_t parts = 0;
  uint64_t least = 0;
  uint64_t fresh = 0;   // sectors that the block had not touched before
  uint64_t queued = 0;  // lanes behind the first of those at the address that most have
  uint64_t worst = 0;   // parts of the worst request, and what it was like
  uint64_t worst_lanes = 0;
  int64_t worst_stride = 0;
  unsigned array = 0;  // of the first request: in `arrays`, from 1 on

  void add(const Count& other);
};

struct Array {
  std::string name;
  const void* made_at;
  uint64_t bytes;
  bool is_read;
  bool is_written;
};

// Of one block while it runs, and of all blocks of equal launches.
class Counters {
 public:
  using Places = std::unordered_map<Place, Count, HashOfPlace>;

  Count& at(uint64_t address, Kind kind, Space space) { return places_[{address, kind, space}]; }
  unsigned array(const std::string& name, const void* made_at, uint64_t bytes, Kind kind);
  bool is_first_touch(uint64_t sector) { return touched_.insert(sector).second; }

  const Places& places() const { return places_; }
  const std::vector<Array>& arrays() const { return arrays_; }

  // The other one's, which is as if it were new afterwards.
  void take(Counters& other);

 private:
  Places places_;
  std::vector<Array> arrays_;
  std::unordered_set<uint64_t> touched_;
};

}  // namespace opbridge_twin::profile
#endif
