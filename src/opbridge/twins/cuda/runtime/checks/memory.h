// Every piece of memory that device code may use, and those it may use no more.
#ifndef OPBRIDGE_TWIN_CHECKS_MEMORY_H
#define OPBRIDGE_TWIN_CHECKS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"

namespace opbridge_twin::checks {

// A piece of memory that a host asked for; freed ones are remembered for a while, so that their use has a name.
struct Allocation {
  uintptr_t begin = 0;
  size_t bytes = 0;
  Space space = Space::device;
  std::string how;  // the function that gave it, or its name
  const void* made_at = nullptr;
  const void* freed_at = nullptr;
  bool freed = false;

  uintptr_t end() const { return begin + bytes; }
  bool holds(uintptr_t address) const { return address - begin < bytes; }
  // "the 400 bytes that cudaMalloc gave at sum.cu:31", places still to be looked up.
  std::string describe() const;
  // Where an address lies that is not in it: "8 bytes after the end of …".
  std::string position_of(uintptr_t address) const;
};

// Everything allocated, by address; pieces do not overlap.
class Memory {
 public:
  // What became of a free.
  enum class Free { done, unknown, not_the_start, twice };

  void set_device_region(uintptr_t begin, size_t bytes);
  bool in_device_region(uintptr_t address) const { return address - region_begin_ < region_bytes_; }

  // Whether it lies in a tensor of a host's, which the host's own code may use and that of a `.cu` may not.
  bool is_adopted(uintptr_t address) const;

  void add(const Allocation& allocation);
  // The allocation as it was, for the report where it cannot be freed.
  std::pair<Free, std::optional<Allocation>> free(uintptr_t begin, const void* freed_at);

  // The live allocation that holds the address.
  std::optional<Allocation> holding(uintptr_t address) const;
  // What the author of a stray access most likely meant: the freed one that holds it, or the nearest.
  std::optional<Allocation> nearest(uintptr_t address) const;

  // Gives the cells around an address of a live allocation their first value.  False where no allocation holds it.
  bool admit(uintptr_t address);

  void initialise(uintptr_t begin, size_t bytes);
  // A `__constant__` variable that holds the address, from now on as any other: the host has asked where it is.
  void let_be_written(uintptr_t address);
  // From now on all that is allocated holds values: what ran could not be watched.
  void initialise_everything();
  // True the first time it is asked for the allocation that holds the address.
  bool first_unset_read(uintptr_t address);

  // Live memory of cudaMalloc's: how many, how much, and the first of it.
  struct Left {
    size_t count = 0;
    size_t bytes = 0;
    const void* first_made_at = nullptr;
  };
  Left left() const;

 private:
  using Interval = std::pair<uintptr_t, uintptr_t>;
  // An allocation with what is known of its contents.
  struct Entry : Allocation {
    std::vector<Interval> initialised;  // sorted, apart from one another
    bool unset_read = false;
  };

  Entry* entry_holding(uintptr_t address) const;
  void forget_within(uintptr_t begin, uintptr_t end, bool live_too);
  static Interval uniform_part(const Entry& entry, uintptr_t address, bool* holds_values);

  mutable std::mutex mutex_;
  uintptr_t region_begin_ = 0;
  size_t region_bytes_ = 0;
  mutable std::map<uintptr_t, Entry> owned_;  // by address; live ones do not overlap
  bool has_unset_ = false;                    // some memory may not have been written
  bool admitted_ = false;                     // some cells are not kAsk
  std::deque<uintptr_t> freed_;               // the oldest first
  mutable std::vector<Entry> adopted_;        // few at a time, and they may overlap: views
};

// Never destroyed: memory is freed in destructors too.
extern Memory& memory;

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_MEMORY_H
