// The memory of a running block other than global memory: its shared variables, and memory that is not checked.
#ifndef OPBRIDGE_TWIN_CHECKS_SURROUNDINGS_H
#define OPBRIDGE_TWIN_CHECKS_SURROUNDINGS_H

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "bulk_copies.h"
#include "copies_in_flight.h"
#include "launch.h"

namespace opbridge_twin::checks {

// [begin, begin + bytes).
struct Range {
  uintptr_t begin = 0;
  size_t bytes = 0;

  Range() = default;
  Range(const void* begin, size_t bytes) : begin(reinterpret_cast<uintptr_t>(begin)), bytes(bytes) {}
  uintptr_t end() const { return begin + bytes; }
  bool holds(uintptr_t address) const { return address - begin < bytes; }
};

// The __shared__ memory that blocks get one after the other, and the variables in it.
class SharedArena {
 public:
  // True where the arena has cells to check it by.
  bool begin_block(Range arena, uint64_t launch);
  void variable(Range range, const char* name);

  const Range& range() const { return arena_; }
  std::string position_of(uintptr_t address) const;

 private:
  // A variable of the module that device code may use.
  struct Variable {
    Range range;
    const char* name;
  };

  Range arena_;
  uint64_t launch_ = 0;
  // Blocks of one launch usually declare the same variables in the same order; then there is nothing to do.
  std::vector<Variable> variables_;
  size_t declared_ = 0;
};

// A block that runs, with all that the checks keep for it.
// What a thread found that asked an mbarrier.
struct Asked {
  uint64_t state;
  const void* at;
};

struct RunningBlock : Block {
  SharedArena shared;
  CopiesInFlight copies;
  BulkCopies bulk;
  std::map<const void*, Asked> asked;  // by the barriers whose phase was incomplete
  Range arguments;
  Range view;
};

inline RunningBlock& running_block() { return *static_cast<RunningBlock*>(worker.block); }

inline std::string shared_position_of(uintptr_t address) { return running_block().shared.position_of(address); }

// Whether device code may use an address that no allocation holds: the launch's arguments, constants of the module,
// thread-local data.
bool is_harmless(uintptr_t address);

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_SURROUNDINGS_H
