// What a launch costs, by place in the code.
#ifndef OPBRIDGE_TWIN_PROFILING_COUNTERS_H
#define OPBRIDGE_TWIN_PROFILING_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
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
  uint64_t joined = 0;  // passes of shared memory where neighbouring reads are joined
  uint64_t fresh = 0;   // sectors that the block had not touched before
  uint64_t missed = 0;  // sectors that the first cache does not hold
  uint64_t queued = 0;  // lanes after the first at the most frequent address
  uint64_t worst = 0;   // parts of the worst request, and what it was like
  uint64_t worst_lanes = 0;
  int64_t worst_stride = 0;
  uint64_t longest = 0;       // requests of the warp that makes most of them in its block
  uint32_t of_warp[32] = {};  // requests of each warp, while a block runs
  unsigned array = 0;         // of the first request: in `arrays`, from 1 on

  void come(unsigned warp) {
    ++requests;
    longest = std::max<uint64_t>(longest, ++of_warp[warp]);
  }
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
  bool holds(uint64_t number) const { return !slots_.empty() && slots_[slot_of(number)] == number; }
  size_t size() const { return used_; }
  void clear();

 private:
  static size_t hash(uint64_t number) { return number * 0x9e3779b97f4a7c15 >> 20; }
  // Where it is, or would be.
  size_t slot_of(uint64_t number) const;
  void grow();

  std::vector<uint64_t> slots_;  // a power of two, at least half of them 0
  size_t used_ = 0;
};

// About what a cache holds that forgets what was asked for longest ago.
class Recent {
 public:
  void begin(size_t capacity);
  // True where it is not there, and is fetched.
  bool misses(uint64_t number);

 private:
  size_t half_ = 0;
  Seen now_, before_;  // each of half the capacity; the older half is forgotten at once
};

// The counters of one block while it runs, and of all blocks of equal launches.
class Counters {
 public:
  using Places = std::unordered_map<Place, Count, HashOfPlace>;

  Count& at(uint64_t address, Kind kind, Space space) {
    const Place place{address, kind, space};
    Found& recent = found_[HashOfPlace()(place) >> 32 & (kFound - 1)];
    if (recent.count == nullptr || !(recent.place == place)) recent = {place, &places_[place]};
    return *recent.count;
  }
  unsigned array(const std::string& name, const void* made_at, uint64_t bytes, Kind kind);
  // `share` is how many sectors of the first cache are each warp's.
  void begin_block(size_t share);
  bool is_first_touch(uint64_t sector) { return touched_.insert(sector + 1); }
  // Warps are counted one after the other but run concurrently: sectors that another warp has touched are present.
  bool misses(unsigned warp, uint64_t sector, bool is_first_touch) {
    if (!shares_[warp].misses(sector + 1)) return false;
    const bool is_again = !touched_by_warps_.insert(sector * kMostWarps + warp + 1);
    return is_first_touch || is_again;
  }

  const Places& places() const { return places_; }
  const std::vector<Array>& arrays() const { return arrays_; }
  Touches touches;

  // The other one's, which is as if it were new afterwards.
  void take(Counters& other);

 private:
  static constexpr size_t kFound = 256;
  struct Found {
    Place place{};
    Count* count = nullptr;
  };

  Places places_;
  Found found_[kFound];  // of the places, by their hash
  std::vector<Array> arrays_;
  Seen touched_;
  static constexpr unsigned kMostWarps = 32;
  Recent shares_[kMostWarps];
  Seen touched_by_warps_;
};

}  // namespace opbridge_twin::profile
#endif
