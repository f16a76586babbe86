// What a launch costs, by place in the code.
#ifndef OPBRIDGE_TWIN_PROFILING_COUNTERS_H
#define OPBRIDGE_TWIN_PROFILING_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "profile.h"
#include "requests.h"
#include "touches.h"

namespace opbridge_twin::profile {

// Which memory a request is for.
enum class Space : uint8_t { none, global, shared, constant };

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

// Sums over requests; parts are sectors, passes or turns, as in Cost.
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

// Numbers that have come before; 0 is none of them.
class Seen {
 public:
  // True the first time.
  bool insert(uint64_t number);
  void clear();

 private:
  static size_t hash(uint64_t number) { return number * 0x9e3779b97f4a7c15 >> 20; }
  void grow();

  std::vector<uint64_t> slots_;  // a power of two, at least half of them 0
  size_t used_ = 0;
};

// Of one block while it runs, and of all blocks of equal launches.
class Counters {
 public:
  using Places = std::unordered_map<Place, Count, HashOfPlace>;

  Count& at(uint64_t address, Kind kind, Space space) {
    const Place place{address, kind, space};
    Recent& recent = recent_[HashOfPlace()(place) >> 32 & (kRecent - 1)];
    if (recent.count == nullptr || !(recent.place == place)) recent = {place, &places_[place]};
    return *recent.count;
  }
  unsigned array(const std::string& name, const void* made_at, uint64_t bytes, Kind kind);
  bool is_first_touch(uint64_t sector) { return touched_.insert(sector + 1); }

  const Places& places() const { return places_; }
  const std::vector<Array>& arrays() const { return arrays_; }
  Touches touches;

  // The other one's, which is as if it were new afterwards.
  void take(Counters& other);

 private:
  static constexpr size_t kRecent = 256;
  struct Recent {
    Place place{};
    Count* count = nullptr;
  };

  Places places_;
  Recent recent_[kRecent];  // of the places, by their hash
  std::vector<Array> arrays_;
  Seen touched_;
};

}  // namespace opbridge_twin::profile
#endif
