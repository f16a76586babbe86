// Global memory: what each block has read and written, and which of it nothing orders.
//
// Blocks run at the same time, and only SyncAll and flags of all cores order one before another: what two of them touch
// with none of these between is a race where one of them writes.
#ifndef OPBRIDGE_ASCEND_RACES_H
#define OPBRIDGE_ASCEND_RACES_H

#include <opbridge_ascend/machine.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report.h"
#include "scalar_cache.h"
#include "stretches.h"

namespace opbridge_ascend {

// An instruction of the kernel's text.
struct Site {
  const char* name;
  Place place;
  pipe_t pipe;
  bool
      automatic;  // whether the compiler of the NPU puts flags around it: --cce-auto-sync, which knows inline functions
  bool loads_blocks = false;  // whole ones, and with them bytes that nobody may have asked for
};

// Two uses of one place are a race unless both read or both are atomic.
enum class Use : uint8_t { read, write, atomic };

// What a core has learned from single other cores, by IBWait and by flags between a matrix unit and its vector units.
struct Heard {
  uint32_t waits = 0, joint = 0;             // the most that one of them had counted
  std::map<uint32_t, uint32_t> epochs = {};  // by core, how many of its epochs are over

  void join(const Heard& other);
};

// What of other cores comes before and after: how often the core has waited for all of its kind, how often it has told
// all of them that it is there, and how often it has met all cores of both kinds.  SyncAll does each of these.  An
// epoch ends where the core tells single others.
struct Order {
  uint32_t waits = 0, sets = 0, joint = 0, epoch = 0;
  bool is_cube = false;
  const Heard* heard = nullptr;  // the launch's

  bool operator==(const Order& other) const {
    return waits == other.waits && sets == other.sets && joint == other.joint && epoch == other.epoch &&
           heard == other.heard;
  }
  // Whether all that this core had done then is over for the other one.
  bool is_before(const Order& other, uint32_t core) const;
};

// A stretch of memory that one instruction of the kernel's text has touched, in one or many runs of it.
struct Touch {
  const uint8_t* begin;
  const uint8_t* end;
  Order order;
  uint16_t site;
  Use use;
};

// The accesses of one block.  Adjacent stretches are merged, so a loop over tiles costs as much as its first iteration.
class Touches {
 public:
  void add(const uint8_t* at, size_t bytes, Order order, uint16_t site, Use use);
  std::vector<Touch> take();

 private:
  void merge();

  static constexpr size_t kFew = 1 << 16;

  std::vector<Touch> all_;
  std::vector<size_t> last_;  // of `all_`, for each use of each site
  size_t merge_at_ = kFew;
};

// All that one core did to global memory; touches name their site by its index.
struct TouchedBy {
  uint32_t block, core;
  std::vector<Touch> touches;
  std::vector<Site> sites;
  std::vector<DirtyLine> lines;  // that its scalar unit has not written back
};

// "4 bytes at 0x…, byte 12 of the 64 bytes of …"
std::string described_memory(const uint8_t* at, size_t bytes);

// For each core, the bytes that it has loaded and others write.
using Doubtful = std::map<uint32_t, Stretches>;

// One report for each pair of instructions.
struct Races {
  std::vector<Report> reports;
  // Reports of loads of whole blocks: whether a core uses the bytes of another one is not yet known.
  std::vector<Report> of_loads;
  Doubtful loaded;
};
Races find_races(const std::vector<TouchedBy>& blocks);

// One report for each pair of instructions that change different bytes of one cache line, in two blocks.
std::vector<Report> find_shared_lines(const std::vector<TouchedBy>& blocks);

}  // namespace opbridge_ascend
#endif
