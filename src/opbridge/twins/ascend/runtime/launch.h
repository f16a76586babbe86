// One launch: blocks that threads take one after the other.
#ifndef OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H
#define OPBRIDGE_ASCEND_RUNTIME_LAUNCH_H

#include <opbridge_ascend/launch.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "races.h"

namespace opbridge_ascend {

// Ends a block from inside its kernel; not an error of C++, which a kernel could catch.
struct BlockEnded {};

class Block;
class Recordings;
class Writes;

// What a launch runs, whatever the number of blocks.
struct Work {
  void (*body)(void*);
  void* state;
  uint32_t cores_per_block;
  Cores cores;
  bool auto_sync;
  // Whether all global memory that the kernel is passed is known, so that any other is a mistake.
  bool is_enclosed;
  // The bytes of C++ variables that nothing is assigned to.
  uint8_t unset = 0xff;
};

// One kernel on all its cores; alive until the last of them has ended.
class Launch {
 public:
  // `log` is null if writes are not recorded, `recordings` if nothing is profiled.  Loads from `doubtful` return
  // unknown bytes.
  Launch(const Work& work, uint32_t blocks, bool checked, Writes* log = nullptr, Recordings* recordings = nullptr,
         const Doubtful* doubtful = nullptr)
      : cores_(blocks * work.cores_per_block),
        checked_(checked),
        work_(work),
        log_(log),
        recordings_(recordings),
        doubtful_(doubtful) {}

  std::vector<Report> run();
  void sync_all(uint32_t block, const Place& at);
  // Synchronises the cores of both kinds, if the kernel runs on both.
  void sync_both(uint32_t block, const Place& at);
  // The counters of CrossCoreSetFlag, of all blocks or of so many neighbours; no group is all.
  void set_flag_of_cores(uint32_t block, uint32_t group, uint32_t flag, const Place& at);
  const Heard* wait_flag_of_cores(uint32_t core, uint32_t flag, const Order& order, const Place& at);
  // The flags of IBSet, each by its address: one block sets it, and another waits for that and takes it away.  A core
  // that waits gets what it knows of others from then on.
  void set_flag_at(const int32_t* flag, uint32_t core, const Order& order, const Place& at);
  const Heard* wait_flag_at(const int32_t* flag, uint32_t core, const Order& order, const Place& at);
  // The flags between the core with the matrix unit and those with vector units of its block.
  void set_flag_of_group(uint32_t core, uint32_t flag, const Order& order, const Place& at);

  // Runs the kernel as the matrix unit's core of a vector core's block, too, from now on.
  void start_cube_of(uint32_t vector_core);
  // Such a core serves Matmul from now on, and does no more of the kernel.
  void cube_serves();
  void add(Report report);
  // What is a mistake unless it is found whatever the bytes of unset variables are.
  void suspect(Report report);

  uint32_t cores() const { return cores_; }
  uint32_t cores_per_block() const { return work_.cores_per_block; }
  Cores kind() const { return work_.cores; }
  bool is_mixed() const { return work_.cores == Cores::mixed || work_.cores == Cores::mixed_with_one; }
  // Cores of both kinds that there may be are numbered with the vector cores first.
  bool is_cube(uint32_t core) const { return core >= cores_; }
  bool has_others() const { return cores_ > 1 || cubes_ > 0; }
  bool checked() const { return checked_; }
  bool auto_sync() const { return work_.auto_sync; }
  bool is_enclosed() const { return work_.is_enclosed; }
  Writes* log() const { return log_; }
  Recordings* recordings() const { return recordings_; }
  const Doubtful* doubtful() const { return doubtful_; }
  // Races that may be none.
  const Races& doubts() const { return doubts_; }
  const std::vector<Report>& suspicions() const { return suspicions_; }
  // Whether the kernel has asked how many blocks there are.
  bool asked_for_count() const { return asked_for_count_; }

 private:
  // Runs blocks until none is left.
  void work();
  void run_block(uint32_t index);
  void run_as_cube(uint32_t block);
  void run_to_its_end(Block& block);
  void go_on_together();
  void block_ended(Block& block);
  uint32_t all_cores() const { return cores_ + cubes_; }
  // Waits for something that only other blocks can do; they call others_go_on.
  template <class Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, Ready ready, uint32_t core, const char* call, const Place& at);
  void others_go_on();
  void report_flags_left();

  const uint32_t cores_;
  const bool checked_;
  const Work work_;
  Writes* const log_;
  Recordings* const recordings_;
  const Doubtful* const doubtful_;
  std::atomic<uint32_t> next_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  uint32_t waiting_ = 0, ended_ = 0, phase_ = 0;
  uint32_t blocked_ = 0, turn_ = 0;  // blocks that wait since others last went on, and how often they did
  bool stuck_ = false;
  // For one id: how often each block has set it beyond what all have, and how often it may wait for it.
  struct CrossCoreFlag {
    std::vector<uint32_t> set, counter;
    Place place{};
  };
  CrossCoreFlag& flag_at(uint32_t flag, const Place& at);
  CrossCoreFlag flags_[kCrossCoreFlags];
  struct SingleFlag {
    uint32_t sets = 0;  // that nobody has waited for yet
    uint32_t block = 0;
    Heard heard{};
    Place place{};
  };
  void set(SingleFlag& flag, uint32_t core, const Order& order, const Place& at);
  const Heard* learn(const Order& order, const std::vector<SingleFlag*>& flags);
  std::map<const int32_t*, SingleFlag> single_flags_;
  // By id and vector core: the flags from its matrix unit, and the flags to it.
  std::map<std::pair<uint32_t, uint32_t>, SingleFlag> to_vector_, to_cube_;
  std::vector<SingleFlag*> flags_of_group(uint32_t core, uint32_t flag, bool told_by_cube);
  std::deque<Heard> heard_;
  std::vector<bool> cube_started_;
  std::atomic<uint32_t> cubes_{0};
  uint32_t serving_ = 0;  // of these
  uint32_t both_waiting_ = 0, both_phase_ = 0;
  // Run blocks that have not begun while other threads wait.
  std::vector<std::thread> helpers_;
  std::vector<Report> reports_, suspicions_;
  std::vector<TouchedBy> touched_;
  Races doubts_;
  bool asked_for_count_ = false;
};

}  // namespace opbridge_ascend
#endif
