// A launch, and the blocks of it that run: what happened before what.
#ifndef OPBRIDGE_TWIN_CHECKS_LAUNCH_H
#define OPBRIDGE_TWIN_CHECKS_LAUNCH_H

#include <stdint.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"
#include "report.h"
#include "state.h"
#include "streams.h"

namespace opbridge_twin::checks {

constexpr uint32_t kWarp = 32;

// "void scale<T>(T*, int) [with T = float]" is how a compiler spells it; users know it as "scale<T> [with T = float]".
std::string short_name(const std::string& kernel);

// Numbers for runs are running out; with all cells cleared, they begin anew.
bool runs_are_used_up();
void count_runs_anew();
Cell next_run_number();
Cell take_run_number();

// Returns whether a run got no separate number, so that its owner and time are unknown.
inline bool is_nobodys(Cell cell) { return run_of(cell) == kMostRun; }

using LaneClocks = std::array<uint32_t, kWarp>;

// A thread said, by an atomic after a fence, that what it did is there for others to see.
struct Publication {
  Cell run;
  uint32_t thread;
  Cell clock;          // its own accesses before this one
  Cell barrier_clock;  // … and everything in its block before this one
  uint64_t time;       // how many publications of the launch came before
  bool narrow;         // for threads of its own block alone
  // What the thread knew of the accesses of its warp's lanes, where these have met.
  std::shared_ptr<const LaneClocks> known;
};

// How a thread looks for what others have published: those of its block alone, or all; and whether what it reads from
// then on comes after the look, or only after a fence to come.
enum class Look : uint8_t { of_block, relaxed, ordered };
constexpr size_t kLooks = 3;

// The order of two accesses.  If the later thread reads a flag without ordering its next reads, hardware may fail, but
// usually does not.
enum class Order : uint8_t { none, without_fence, full };

// One launch that is checked: its blocks run on several threads, each of which has its own part of what is written
// here.
class Launch {
 public:
  Launch(const LaunchInfo& info, Concurrent beside);

  const LaunchInfo info;
  const std::string kernel;
  const uint64_t number;  // of the launch in the process, from 1 on
  const Concurrent beside;

  // A new number for the run of a block; what has a lower one began before.
  Cell new_run(uint64_t block);
  // Returns the block of a run of this launch.
  std::optional<uint64_t> block_of(Cell run) const;
  // What was done before it is ordered before everything to come.
  Cell floor() const { return floor_.load(std::memory_order_relaxed); }
  // The same without the concurrent work of other streams.
  Cell ordered_floor() const { return std::min(floor(), beside.floor()); }
  void raise_floor();

  void publish(uint64_t block, Publication publication);
  uint64_t time() const { return time_.load(std::memory_order_acquire); }
  // Whether a cell's access was published by its block before `time`.
  bool published(uint64_t block, Cell cell, uint64_t time, bool to_its_block) const;

  // Pairs of places in the code whose threads were seen to write the same values.
  bool knows_same_value(uint64_t places) const;
  bool notes_same_value(uint64_t places);  // true where that is new
  void forgets_same_value(uint64_t places);

  // Whether a note on these places has not been made before.
  bool is_new(Kind note, uint64_t places);

  // Kept until the launch ends, so that what is said does not depend on which block came first.
  void found(Report report);
  bool has_failed_before(uint64_t block) const {
    return failed_block_.load(std::memory_order_relaxed) < block || is_cancelled();
  }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // No block begins any more.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Sends what was found to the user; the CUDA error it amounts to.
  int deliver();

 private:
  // Rises only, and blocks read it when they begin: a late reader takes more for unordered than it need.
  std::atomic<Cell> floor_;
  // The number of publications.  It is counted up, with release, once the publication is in the table: a reader that
  // loads a time with acquire finds all older ones.
  std::atomic<uint64_t> time_{0};
  // Falls only, under the mutex.  A block that reads it late runs for nothing, and its reports are left out at the end.
  std::atomic<uint64_t> failed_block_{UINT64_MAX};
  std::atomic<bool> cancelled_{false};  // once true, true; a block that sees it late is ended by the watch
  mutable std::mutex mutex_;
  std::vector<std::pair<Cell, uint64_t>> blocks_;  // by run, rising
  std::map<uint64_t, std::vector<Publication>> publications_;
  std::map<std::string, Report> reports_;
  std::set<uint64_t> same_values_;
  std::set<std::pair<Kind, uint64_t>> notes_;
};

// The block that runs on a thread of the machine; used for one after the other.
class Block {
 public:
  void begin(Launch* launch, uint64_t linear);

  Launch& launch() const { return *launch_; }
  uint64_t linear() const { return linear_; }
  uint32_t threads() const { return static_cast<uint32_t>(threads_.size()); }

  Cell stamp(uint32_t thread) const;
  // Whether a thread of it looked for what others have published.
  bool has_looked() const { return any_looked_; }
  bool all_clocks_are_equal() const { return untouched_; }
  Cell run_floor() const { return run_ << kRunShift; }
  Cell first_floor() const { return first_run_ << kRunShift; }
  Cell barrier_floor() const { return run_ << kRunShift | Cell{barrier_clock_} << kClockShift; }
  bool begun_before(Cell floor) const { return run_ << kRunShift < floor; }

  void begin_new_run();
  void barrier_passed();
  void warp_synced(uint32_t warp, uint32_t lanes);
  void fence(uint32_t thread, bool narrow);
  // Records an atomic or volatile store of the thread, or a load that follows: it is assumed to see everything that is
  // published when another thread asks.
  void publish(uint32_t thread, bool narrow);
  void acquire(uint32_t thread, Look look);

  // Returns the block of the access in a cell: this one, another one of the launch, or none that could conflict.
  std::optional<uint64_t> block_of(Cell cell) const;
  // Whether that access is known to come before what the thread does now.
  Order ordered(Cell cell, uint64_t block, uint32_t thread);

 private:
  struct Fence {
    uint32_t clock = 0;  // of its thread in this run, 0 for none
    uint32_t barrier = 0;
    std::shared_ptr<const LaneClocks> known = {};
  };
  struct Thread {
    uint32_t clock = 0;                   // its own; the block's barrier may be ahead
    Fence fences[2];                      // its last one of any kind, and its last one for all blocks
    std::array<uint64_t, kLooks> seen{};  // publications it knows of
    std::array<bool, kLooks> looks{};     // it is about to see more of them
  };
  // For each lane, up to which clock it knows what the others did.
  struct Warp {
    bool used = false;
    std::array<LaneClocks, kWarp> known;
  };
  // Of fences by any thread before a barrier, which are fences for all: what they did before the barrier, an atomic
  // after it tells.
  struct BlockFence {
    bool since_barrier = false;
    bool at_barrier = false;
    uint32_t barrier = 0;
  };

  uint32_t clock(uint32_t thread) const { return std::max(threads_[thread].clock, barrier_clock_); }
  void reset_clocks();
  void leave_room_for_clocks();
  uint64_t seen(uint32_t thread, Look look);
  Publication publication(uint32_t thread, bool narrow) const;
  void share_looks(uint32_t warp, uint32_t lanes);

  Launch* launch_ = nullptr;
  uint64_t linear_ = 0;
  Cell first_run_ = 0;
  Cell run_ = 0;
  uint32_t barrier_clock_ = 0;
  uint32_t most_clock_ = 0;
  uint64_t seen_at_barrier_ = 0;
  uint64_t most_seen_ = 0;
  bool some_look_ = false;      // since the last barrier
  bool any_looked_ = false;     // since the block began
  BlockFence block_fences_[2];  // of any kind, and for all blocks
  bool untouched_ = false;      // no thread has a clock of its own
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
};

}  // namespace opbridge_twin::checks

#endif  // OPBRIDGE_TWIN_CHECKS_LAUNCH_H
